from .item import ItemGenerator as ItemGenerator
from .item import Stand as Stand
