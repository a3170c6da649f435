"""The options allowed in an ini file: all options of all processes, because several may share a file, and of
libraries.

A section of a library that is not installed, or of an unknown auth type, may contain any option.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points

from oslo_config import cfg

from evenkeel.cmd.configuration.haproxyd_sections import HAPROXYD_OPTION_GROUPS
from evenkeel.cmd.configuration.ini_files import DEFAULT_SECTION, IniFile, section_key
from evenkeel.cmd.configuration.unknown_options import KnownOptions, unknown_problems
from evenkeel.cmd.options.named_sections import named_options

LIBRARY_ENTRY_POINTS = {
    "oslo_policy": "oslo.policy",
    "keystone_authtoken": "keystonemiddleware.auth_token",
    "cache": "oslo.cache",  # where keystonemiddleware keeps tokens
}
"""Entry point of the group ``oslo.config.opts`` that lists the options of a section."""
LOGIN_SECTIONS = ("keystone_authtoken", "neutron", "barbican")
"""Sections with keystoneauth's credentials for Keystone."""

OptionsBySection = Mapping[str | None, Sequence[cfg.Opt] | None]
WrittenValues = Mapping[str, Mapping[str, str]]


def find_unknown_options(groups: OptionsBySection, files: Sequence[IniFile]) -> Iterator[str]:
    """Yield a problem for each option in the files that nothing reads. ``groups``: as in
    :func:`known_options`.
    """
    # Other options are loaded only if a file has any, because their modules take long.
    if any(unknown_problems(files, _option_names_by_section([groups], set()))):
        yield from unknown_problems(files, known_options(groups, files))


def known_options(groups: OptionsBySection, files: Sequence[IniFile]) -> KnownOptions:
    """Return the allowed options by section.

    ``groups``: options by section of this process and of device drivers; None instead of options allows any.
    """
    from evenkeel.cmd.configuration import sections

    written = _effective_values(files)
    # oslo.config reads more options from the sources that these sections name
    anything = {
        section_key(name.strip()) for name in written.get(DEFAULT_SECTION, {}).get("config_source", "").split(",")
    }
    named: dict[str | None, Sequence[cfg.Opt] | None] = {}
    named.update(named_options(written))
    of_processes = (sections.CONTROLLER_OPTION_GROUPS, sections.AGENT_OPTION_GROUPS, HAPROXYD_OPTION_GROUPS, named)
    return _option_names_by_section((*of_processes, groups, *_library_groups(written)), anything)


def _option_names_by_section(all_groups: Iterable[OptionsBySection], unchecked_sections: set[str]) -> KnownOptions:
    """Return the names of all options by section, former names included. ``unchecked_sections``: sections in which any
    option is allowed.
    """
    known: dict[str, set[str]] = {DEFAULT_SECTION: {"config_source"}}
    unchecked_sections = set(unchecked_sections)
    for declared in all_groups:
        for group, options in declared.items():
            if options is None:
                unchecked_sections.add(group or DEFAULT_SECTION)
            else:
                _add_options(known, group or DEFAULT_SECTION, options)
    return {
        name: None if name in unchecked_sections else frozenset(known.get(name, ()))
        for name in {*known, *unchecked_sections}
        if name
    }


def _add_options(names_by_section: dict[str, set[str]], group: str, options: Iterable[cfg.Opt]) -> None:
    names = names_by_section.setdefault(group, set())
    for option in options:
        names.add(option.dest)
        # oslo.config still reads the former names and sections of an option.
        for former in option.deprecated_opts:
            names_by_section.setdefault(section_key(former.group or group), set()).add(former.name or option.dest)


def _effective_values(files: Sequence[IniFile]) -> WrittenValues:
    """Return ``{section: {option: value}}``; of several values of an option the last one counts."""
    found: dict[str, dict[str, str]] = {}
    for file in files:
        for section, options in file.sections.items():
            found.setdefault(section_key(section), {}).update({name: values[-1] for name, values in options.items()})
    return found


def _library_groups(written: WrittenValues) -> Iterator[OptionsBySection]:
    """Yield ``{section: options}`` of libraries for those of their sections that files contain; None in place
    of options that are not known.
    """
    for section in LIBRARY_ENTRY_POINTS.keys() & written.keys():
        yield {section: _options_of_library(section)}
    for section in LOGIN_SECTIONS:
        if section in written:
            yield _login_groups(section, written)


def _options_of_library(section: str) -> Sequence[cfg.Opt] | None:
    for entry in entry_points(group="oslo.config.opts", name=LIBRARY_ENTRY_POINTS[section]):
        try:
            listed = entry.load()()
        except ImportError:
            return None
        return [option for group, options in listed if str(group) == section for option in options]
    return None


def _login_groups(section: str, written: WrittenValues) -> OptionsBySection:
    """Return keystoneauth's options for the section, and for the section that its ``auth_section`` names;
    None in place of options that are not known.
    """
    try:
        from keystoneauth1 import loading
    except ImportError:
        return {section: None}
    own = loading.get_auth_common_conf_options()
    if section != "keystone_authtoken":
        own = [*own, *loading.get_session_conf_options(), *loading.get_adapter_conf_options()]
    there = section_key(written[section].get("auth_section", section))
    login = _auth_type_options(written.get(there, {}))
    if there != section:
        return {section: own, there: login}
    return {section: None if login is None else [*own, *login]}


def _auth_type_options(written: Mapping[str, str]) -> Sequence[cfg.Opt] | None:
    """Return keystoneauth's options of the section's auth type; None: unknown type, refused when it is opened."""
    from keystoneauth1 import exceptions, loading

    common = list(loading.get_auth_common_conf_options())
    name = written.get("auth_type") or written.get("auth_plugin")
    if not name:
        return common
    try:
        return common + list(loading.get_auth_plugin_conf_options(name))
    except exceptions.NoMatchingPlugin:
        return None
