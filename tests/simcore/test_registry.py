"""Catalogs import nothing to list names, and every wrong name, plugin or missing extra says what to do."""

import shlex
import sys
from collections import Counter, OrderedDict, deque
from importlib.metadata import EntryPoint, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from unlatch.simcore import extras, registry
from unlatch.simcore.errors import DuplicateEntryError, PluginError, UnknownEntryError
from unlatch.simcore.extras import clone_folder, extra_packages, import_extra, install_command
from unlatch.simcore.registry import Catalog, CatalogEntry


class FakeDistribution:
    name = "other-skills"

    def __init__(self, summary=None, requires=None):
        self.metadata = {"Summary": summary} if summary else {}
        self.requires = requires


def entry_point(name, value, *, dist=FakeDistribution):
    point = EntryPoint(name=name, value=value, group="unlatch.skills")
    vars(point)["dist"] = dist() if isinstance(dist, type) else dist
    return point


@pytest.fixture
def points(monkeypatch):
    found = []
    monkeypatch.setattr(registry, "installed_entry_points", lambda group: [p for p in found if p.group == group])
    return found


@pytest.fixture
def catalog(points):
    entries = {
        "close": CatalogEntry("collections:OrderedDict", "Closes a part."),
        "open": CatalogEntry("collections:Counter", "Opens a part."),
    }
    return Catalog("skill", entries, group="unlatch.skills")


def test_names_are_sorted_over_built_in_entries_and_plugins(catalog, points):
    points.append(entry_point("flip", "collections:deque", dist=FakeDistribution("Flips pancakes")))
    assert catalog.entry("flip").summary == "Flips pancakes (from other-skills)"
    assert catalog.names() == ["close", "flip", "open"]
    assert catalog.own_names() == ["close", "open"]
    assert catalog.entry("flip").origin == "other-skills"


def test_load_returns_what_the_target_names_without_extras(catalog, points):
    points.append(entry_point("nested", "collections:OrderedDict.fromkeys"))
    points.append(entry_point("flip", "collections:deque [fast]"))
    assert catalog.load("open") is Counter
    assert catalog.load("nested") == OrderedDict.fromkeys
    assert catalog.load("flip") is deque


def test_listing_names_imports_no_plugin(catalog, points):
    points.append(entry_point("flip", "a_module_that_is_not_there:Flip"))
    assert "flip" in catalog.names()
    assert "flip" in repr(catalog)


def test_an_unknown_name_is_refused_with_close_and_known_ones(catalog):
    with pytest.raises(
        UnknownEntryError, match=r"Unknown skill 'opn'\. Did you mean 'open'\? Known: close, open\."
    ) as e:
        catalog.load("opn")
    assert (e.value.name, e.value.available) == ("opn", ["close", "open"])


def test_a_plugin_with_the_name_of_a_built_in_entry_is_refused(catalog, points):
    points.append(entry_point("open", "collections:deque"))
    with pytest.raises(DuplicateEntryError, match=r"'open' is registered twice: by unlatch .* and by other-skills"):
        catalog.names()


def test_two_plugins_with_one_name_are_refused(catalog, points):
    points += [entry_point("flip", "collections:deque"), entry_point("flip", "collections:Counter", dist=None)]
    with pytest.raises(DuplicateEntryError, match=r"'flip' is registered twice: by other-skills .* an unknown package"):
        catalog.entries()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("a_module_that_is_not_there:Flip", "ModuleNotFoundError"),
        ("collections:not_there", "AttributeError"),
        ("collections", "AttributeError"),
    ],
)
def test_a_broken_plugin_is_an_error_only_when_it_is_loaded(catalog, points, target, reason):
    points.append(entry_point("flip", target))
    assert catalog.load("open") is not None
    with pytest.raises(PluginError, match=f"'flip' of other-skills cannot be loaded from '{target}': {reason}") as e:
        catalog.load("flip")
    assert (e.value.name, e.value.origin) == ("flip", "other-skills")


@pytest.mark.parametrize("body", ["raise RuntimeError('no licence')", "def broken(:"])
def test_a_plugin_whose_module_raises_anything_is_named(catalog, points, tmp_path, monkeypatch, body):
    (tmp_path / "plugin_that_raises.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    points.append(entry_point("flip", "plugin_that_raises:Flip"))
    with pytest.raises(PluginError, match="'flip' of other-skills cannot be loaded"):
        catalog.load("flip")
    assert "plugin_that_raises" not in sys.modules


def test_a_catalog_without_a_group_has_its_built_in_entries_only(points):
    points.append(entry_point("flip", "collections:deque"))
    assert Catalog("term", {"plane": CatalogEntry("collections:deque", "")}).names() == ["plane"]


@pytest.mark.parametrize("asked", ["unlatch>=99", "unlatch<0.1"])
def test_a_plugin_for_another_version_of_ours_is_named(catalog, points, asked):
    points.append(entry_point("flip", "collections:deque", dist=FakeDistribution(requires=["numpy", asked])))
    assert catalog.load("open") is not None
    with pytest.raises(PluginError, match=f"'flip' of other-skills was made for unlatch {asked[7:]}, and this is "):
        catalog.load("flip")


@pytest.mark.parametrize("asked", ["unlatch", "unlatch>=0.1", "other>=99", "no requirement at all"])
def test_a_plugin_for_this_version_is_loaded(catalog, points, asked):
    points.append(entry_point("flip", "collections:deque", dist=FakeDistribution(requires=[asked])))
    assert catalog.load("flip") is deque


@pytest.mark.parametrize("target", ["collections:Counter", "collections:namedtuple"])
def test_a_plugin_of_another_kind_is_named(points, target):
    catalog = Catalog("skill", {}, group="unlatch.skills", contract="collections:OrderedDict")
    points += [entry_point("flip", target), entry_point("good", "collections:OrderedDict")]
    assert catalog.load("good") is not None
    with pytest.raises(PluginError, match=r"Expected a subclass of collections\.OrderedDict"):
        catalog.load("flip")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("builtins:list", r"The robot 'odd' of other-skills, 'builtins:list', returns list\. Expected a dict"),
        (
            "builtins:iter",
            r"The robot 'odd' of other-skills cannot be made by 'builtins:iter': TypeError: iter expected",
        ),
    ],
)
def test_results_of_functions_are_checked(points, target, message):
    catalog = Catalog("robot", {}, group="unlatch.skills", product="builtins:dict")
    points += [entry_point("odd", target), entry_point("good", "builtins:dict")]
    assert catalog.make("good") == {}
    with pytest.raises(PluginError, match=message):
        catalog.make("odd")


def test_a_package_that_is_installed_later_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert "nudge" not in registry.installed_entry_points("unlatch.skills").names
    folder = tmp_path / "later-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: later\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[unlatch.skills]\nnudge = later:Nudge\n")
    assert "nudge" in registry.installed_entry_points("unlatch.skills").names


ROOT = Path(__file__).resolve().parents[2]
EXTRAS = sorted({part.split('"')[1] for text in requires("unlatch") or [] for part in text.split("extra ==")[1:]})


def test_in_a_clone_the_command_names_its_folder():
    assert clone_folder() == ROOT
    assert shlex.split(install_command("gym")) == ["pip", "install", "-e", f"{ROOT}[gym]"]


def test_a_folder_with_spaces_is_quoted(monkeypatch):
    monkeypatch.setattr(extras, "clone_folder", lambda: Path("/my robots/Ann's clone"))
    assert shlex.split(install_command("gym")) == ["pip", "install", "-e", "/my robots/Ann's clone[gym]"]


@pytest.mark.parametrize("extra", EXTRAS)
def test_elsewhere_the_command_names_the_packages_of_the_extra(monkeypatch, extra):
    monkeypatch.setattr(extras, "clone_folder", lambda: None)
    pip, install, *packages = shlex.split(install_command(extra))
    assert [pip, install] == ["pip", "install"]
    names = {Requirement(text).name for text in packages}
    assert names
    assert "unlatch" not in names


def test_extras_of_a_package_and_its_versions_are_kept_and_markers_are_not(monkeypatch):
    monkeypatch.setattr(extras, "requires", lambda _: [
        "numpy>=1",
        'lerobot[diffusion,training]<0.7,>=0.6; extra == "far"',
        'old; python_version < "3" and extra == "far"',
        'other; extra == "near"',
    ])  # fmt: skip
    assert extra_packages("any", "far") == ["lerobot[diffusion,training]<0.7,>=0.6"]


def test_code_outside_of_a_clone_knows_no_clone(tmp_path, monkeypatch):
    copied = tmp_path / "site-packages" / "unlatch" / "simcore" / "extras.py"
    copied.parent.mkdir(parents=True)
    copied.write_text("")
    monkeypatch.setattr(extras, "__file__", str(copied))
    assert clone_folder() is None


def test_a_missing_package_is_an_error_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(PluginError) as caught:
        import_extra("h5py", extra="hdf5")
    assert caught.value.message.endswith(f"It comes with the extra 'hdf5'. Install it: {install_command('hdf5')}")
