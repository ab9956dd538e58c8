  const get = (id) => document.getElementById(id);
  const add = (parent, tag, text, className) => {
    const element = document.createElement(tag);
    if (text !== undefined && text !== "") element.textContent = text;
    if (className) element.className = className;
    parent.appendChild(element);
    return element;
  };
  const draw = (parent, tag, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.appendChild(element);
    return element;
  };
