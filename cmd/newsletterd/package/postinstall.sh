#!/bin/sh
# After an installation or an upgrade: the user and the folder of the unit, and the daemon anew where it runs.
set -e
if ! getent passwd newsletterd >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/newsletterd --no-create-home --shell /usr/sbin/nologin newsletterd
fi
install -d -m 0700 -o newsletterd -g newsletterd /var/lib/newsletterd
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart newsletterd.service
fi
if [ ! -e /var/lib/newsletterd/newsletterd.toml ]; then
	echo "newsletterd: set up this machine with"
	echo "  sudo newsletterd init && sudo systemctl enable --now newsletterd"
fi
