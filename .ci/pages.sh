#!/bin/sh
# make pages: the tests in a browser. The arguments are axe-core and the module of oauth2-proxy. Without npm it skips the
# accessibility checks; if oauth2-proxy can't be built, it skips the sign-in through it. It says what it skips.
axe=$1 proxy=$2
dir=$(mktemp -d)
trap 'rm -rf $dir' EXIT
if command -v npm >/dev/null && (cd $dir && npm pack --silent $axe >/dev/null && tar xzf axe-core-*.tgz package/axe.min.js); then
	export AXE=$dir/package/axe.min.js
else
	echo "SKIPPED: npm does not bring $axe, so there are no accessibility checks"
fi
if source=$($GO mod download -json $proxy | sed -n 's/^.*"Dir": "\(.*\)".*/\1/p') &&
	(cd "$source" && CGO_ENABLED=0 $GO build -o $dir/oauth2-proxy .); then
	export OAUTH2_PROXY=$dir/oauth2-proxy
else
	echo "SKIPPED: $proxy can't be built here, so nobody signs in through it"
fi
CGO_ENABLED=0 NEWSLETTERD_BROWSER=1 $GO test -count=1 -v -timeout 30m -parallel 3 -run 'Browser|^TestMovingIn$' ./cmd/newsletterd
