#!/bin/sh
# make clients: programs on generated API clients, run against a daemon. The first argument is the generator for Go, the
# others are npm packages of the generator for TypeScript. Without npm it skips TypeScript and says so.
export OAPI_CODEGEN=$1
shift
dir=$(mktemp -d)
trap 'rm -rf $dir' EXIT
if command -v npm >/dev/null && (cd $dir && npm install --silent --no-audit --no-fund "$@"); then
	export NODE_MODULES=$dir/node_modules
else
	echo "SKIPPED: npm does not bring $*, so no client in TypeScript is made"
fi
CGO_ENABLED=0 $GO test -count=1 -v -run GeneratedClients ./cmd/newsletterd
