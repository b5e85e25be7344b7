#!/bin/sh
# make release: binaries for the given platforms, packages and SHA256SUMS in dist/. Each binary is built twice, the second
# time with an empty build cache, and compared.
rm -rf dist && mkdir -p dist/again || exit 1
version=$(git describe --tags --always --dirty 2>/dev/null || echo devel)
cache=$(mktemp -d)
trap 'chmod -R u+w $cache; rm -rf $cache' EXIT
build() {
	CGO_ENABLED=0 GOOS=${1%/*} GOARCH=${1#*/} $GO build -trimpath -ldflags "-s -w -X main.release=$version" -o "$2" ./cmd/newsletterd
}
for platform in "$@"; do
	name=newsletterd-$version-$(echo $platform | tr / -)
	build $platform dist/$name || exit 1
	( export GOCACHE=$cache; build $platform dist/again/$name ) || exit 1
	cmp dist/$name dist/again/$name || { echo "two builds of $name differ"; exit 1; }
	echo "dist/$name"
	test ${platform%/*} = linux || continue
	number=$(git describe --tags --match 'v[0-9]*' 2>/dev/null || echo 0.0.0+$version)
	for kind in deb rpm; do
		VERSION=${number#v} ARCH=${platform#*/} BINARY=dist/$name \
			$GO run $NFPM package -f cmd/newsletterd/package/nfpm.yaml -p $kind -t dist/ || exit 1
	done
done
rm -rf dist/again
cd dist && sha256sum newsletterd[-_]* > SHA256SUMS && cat SHA256SUMS
