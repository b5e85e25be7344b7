#!/bin/sh
# The database in /var/lib/newsletterd stays, and so does its owner.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
