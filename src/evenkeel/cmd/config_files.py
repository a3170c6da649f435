"""Ini files: read by oslo.config, and refused if they contain an unknown option."""

from collections.abc import Sequence
from pathlib import Path

from oslo_config import cfg

from evenkeel.cmd.device_drivers import declared_options, installed_drivers
from evenkeel.cmd.known_options import known_options
from evenkeel.cmd.sections import OptionGroups
from evenkeel.cmd.unknown_options import IniFile, refuse_unknown, section_key


def load(name: str, arguments: Sequence[str], *, groups: OptionGroups) -> cfg.ConfigOpts:
    """Read the ``--config-file``s of the process ``name``. ``groups``: the options it reads, by section.

    Sections of device drivers are read, too, if they are in a file or the process has a ``device_driver``. Raises
    :class:`ValueError` naming the file, or the option and what is allowed; exits on bad arguments.
    """
    conf = cfg.ConfigOpts()
    for group, options in groups.items():
        conf.register_opts(options, group=group)
    try:
        conf(list(arguments), project="evenkeel", prog=name, default_config_files=None)
        files = _files(conf)
    except cfg.ConfigFilesNotFoundError as error:
        raise ValueError(f"--config-file: {', '.join(error.config_files)}: no such file") from error
    except cfg.ConfigFileParseError as error:
        raise ValueError(f"--config-file: {_place(error)}") from None  # the line itself may contain a password
    except cfg.Error as error:
        raise ValueError(f"--config-file: {error}") from error
    drivers = _driver_sections(conf, files)
    for driver, declared in drivers.items():
        conf.register_group(cfg.OptGroup(driver))
        conf.register_opts(declared or (), group=driver)
    known: dict[str | None, Sequence[cfg.Opt] | None] = dict(groups)
    known.update(drivers)
    refuse_unknown(files, known_options(known, files))
    for group, listed in known.items():
        for option in listed or ():
            _check(conf, group, option)
    return conf


def _files(conf: cfg.ConfigOpts) -> tuple[IniFile, ...]:
    """The files in oslo.config's order: of an option in several files, the last one counts."""
    folders = conf.config_dirs or conf.config_dir or ()
    paths = [Path(file).expanduser() for file in conf.config_file or ()]
    paths += [path for folder in folders for path in sorted(Path(folder).expanduser().glob("*.conf"))]
    found = []
    for path in paths:
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(path), sections).parse()
        found.append(IniFile(path=str(path), sections=sections))
    return tuple(found)


def _driver_sections(conf: cfg.ConfigOpts, files: Sequence[IniFile]) -> dict[str, Sequence[cfg.Opt] | None]:
    """Options by driver: of the configured one, and of those with a section in a file.

    None: they cannot be loaded, which does not matter if another driver is configured.
    """
    configured = {conf.device_driver} if "device_driver" in conf else set()
    found: dict[str, Sequence[cfg.Opt] | None] = {driver: declared_options(driver) for driver in configured}
    in_files = {section_key(section) for file in files for section in file.sections}
    for driver in sorted(installed_drivers() & in_files - configured):
        try:
            found[driver] = declared_options(driver)
        except ValueError:
            found[driver] = None
    return found


def _place(error: cfg.ConfigFileParseError) -> str:
    """The position and reason of a syntax error."""
    cause = error.__context__
    if isinstance(cause, cfg.ParseError):
        return f"{error.config_file}: line {cause.lineno}: {cause.msg}"
    return f"{error.config_file}: cannot be read as an ini file"


def _check(conf: cfg.ConfigOpts, group: str | None, option: cfg.Opt) -> None:
    """Read it once, so that an invalid value is found at start. The error shows the value unless it is a secret."""
    try:
        getattr(conf[group] if group else conf, option.dest)
    except (cfg.Error, ValueError) as error:
        name = f"{group}.{option.name}" if group else option.name
        reason = "a value that is not allowed" if option.secret else str(error).rpartition(" is not valid: ")[2]
        raise ValueError(f"{name}: {reason}; {option.help}") from error
