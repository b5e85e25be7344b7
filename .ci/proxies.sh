#!/bin/sh
# make proxies: runs nginx and Caddy as docs/proxy.md configures them, in front of a daemon. Debian's packages of missing
# ones are unpacked into a temporary folder, so that none of them starts here. It says what it skips.
dir=$(mktemp -d)
trap 'rm -rf $dir' EXIT
chmod 755 $dir
for name in nginx caddy; do
	command -v $name >/dev/null || (cd $dir && apt-get download -q $name >/dev/null 2>&1 && dpkg -x ${name}_*.deb .)
done
export PATH=$PATH:$dir/usr/sbin:$dir/usr/bin
CGO_ENABLED=0 $GO test -count=1 -v -run TestReverseProxies ./cmd/newsletterd
