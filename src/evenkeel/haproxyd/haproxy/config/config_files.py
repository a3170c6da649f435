"""The files that one HAProxy reads when a worker starts: written before a reload, after a response, or as a repair."""

from collections.abc import Mapping

from evenkeel.haproxyd.disk.files import read_text, update_file
from evenkeel.haproxyd.disk.storage import PartitionStorage, texts_digest
from evenkeel.haproxyd.haproxy.config.compose import PEER_KEY, TRUSTED_PEERS, ConfigComposer, HaproxyConfig
from evenkeel.haproxyd.haproxy.config.layout import PartitionLayout
from evenkeel.haproxyd.haproxy.config.live_policies import GENERATIONS, POLICIES
from evenkeel.haproxyd.network.peer_keys import trusted_ca_certificates
from evenkeel.haproxyd.settings import DaemonSettings


class ConfigFiles:
    """Files that one partition's HAProxy reads: its configuration, and the certificates and lists that it
    refers to.
    """

    def __init__(
        self, partition: str, settings: DaemonSettings, storage: PartitionStorage, layout: PartitionLayout
    ) -> None:
        self._partition = partition
        self._settings = settings
        self._storage = storage
        self._layout = layout
        self._known: dict[str, str] = {}
        """Contents that are certainly on disk, by file name."""
        self._composer = ConfigComposer(partition, layout, settings)
        self.outdated = False
        """Whether the files are older than the running configuration."""

    def forget_written_files(self) -> None:
        """Forget which contents are on disk, so that the next write compares all files with the disk, and
        replaces files that differ.
        """
        self._known = {}
        self._composer = ConfigComposer(self._partition, self._layout, self._settings)

    def write(self, config: HaproxyConfig, *, with_local: bool) -> None:
        """Write the files of a configuration; files without a reference stay, because they may be in use.
        Blocks. Raises :class:`OSError`.

        ``with_local``: include the operator's file.
        """
        write_files(self._storage, config, self._layout, self._known, self._composer)
        self._known |= config_file_contents(config)
        self._storage.include_local_config(include=with_local)
        self.outdated = False

    def remove_unused_files(self, config: HaproxyConfig) -> None:
        """Remove files that this configuration does not refer to. Blocks. Raises :class:`OSError`."""
        # A file that is removed here has to be written again when a later configuration refers to it.
        self._known = config_file_contents(config)
        self._storage.remove_unused_files(self._known)

    def find_changed_files(self, config: HaproxyConfig) -> tuple[str, ...]:
        """Return the names of files on disk that differ from this configuration's; :meth:`write` then writes
        them again. Blocks.
        """
        wanted = config_file_contents(config)
        differing = self._storage.differing_files(wanted)
        self._known = {name: content for name, content in wanted.items() if name not in differing}
        if read_text(self._layout.config_file) != self._composer.compose_text(config):
            return (*differing, self._layout.config_file.name)
        return differing

    def digest(self, config: HaproxyConfig, local: str) -> str:
        """Return a SHA-256 digest, in hexadecimal, of everything that a HAProxy with this configuration has
        read. ``local``: text of the operator's file.
        """
        files = (part for item in sorted(config_file_contents(config).items()) for part in item)
        return texts_digest(self._composer.compose_text(config), local, *files)


def write_files(
    storage: PartitionStorage,
    config: HaproxyConfig,
    layout: PartitionLayout,
    known_contents: Mapping[str, str],
    composer: ConfigComposer,
) -> None:
    """Write the files that the configuration refers to, unless ``known_contents`` has their content, then the
    configuration. Blocks. Raises :class:`OSError`.

    A file that already has its content is not written again: HAProxy can be started from it while the disk is
    full.
    """
    storage.write_files(layout.files_dir, config_file_contents(config), known_contents)
    # the temporary file is outside the directory: HAProxy reads every file in it
    update_file(layout.config_file, composer.compose_text(config).encode(), temporary_dir=layout.config_dir.parent)


def load_balancer_id_of_file(config: HaproxyConfig, name: str) -> str:
    """Return the id of the load balancer that has a file of this name; empty if there is none."""
    balancers = config.load_balancers.values()
    return next((one.id for one in balancers for file in one.files if file.name == name), "")


def config_file_contents(config: HaproxyConfig) -> dict[str, str]:
    """Return ``{file name: content}`` of all files that the configuration refers to: certificates, lists,
    keys for peers, and the maps of L7 policies.
    """
    files = {file.name: file.content for one in config.load_balancers.values() for file in one.files}
    if config.peer:
        files |= {PEER_KEY: config.peer_key, TRUSTED_PEERS: trusted_ca_certificates(config.peer, config.peers)}
    if config.supports_live_policies:
        files |= dict.fromkeys((GENERATIONS, POLICIES), "")
    return files
