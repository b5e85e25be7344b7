#!/bin/sh
# Before a removal, but not before an upgrade: stop the daemon. Debian says "remove", rpm the number of versions that stay.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now newsletterd.service
	fi
	;;
esac
