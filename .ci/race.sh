#!/bin/sh
# make race: all tests under the race detector. It needs a C compiler.
#
# SQLite is C translated to Go and does its own locking, as does its memory allocator. The detector skips both, because
# watching each of their accesses would take several times as long.
#
# Timers of one testing/synctest bubble share a context of the detector, which crashes if two threads use it at once
# (go1.26). Packages with bubbles therefore run on one processor; the detector goes by what happens before what, so it
# finds the same races there. The largest packages start first, so that none of them runs alone at the end.
#
# What has one goroutine is left out: tests that ask for it by -short, and the package of pictures, which takes a minute.
#
# vet has its own target. A program under the detector sleeps for a second before it ends unless told otherwise, and the
# tests start hundreds of them.
by_size() {
	for dir in "$@"; do
		echo "$(cat $dir/*_test.go 2>/dev/null | wc -c) $dir"
	done | sort -rn | cut -d ' ' -f 2
}
bubbles=$(by_size $(grep -rl --include='*_test.go' '"testing/synctest"' . | xargs -n1 dirname | sort -u))
others=$(by_size $($GO list -f '{{.Dir}}' ./... | sed 's,^'"$PWD"',.,' | grep -vxF "$bubbles" | grep -v /mail/picture))
export GORACE=atexit_sleep_ms=20
race() {
	echo "race detector: $*"
	CGO_ENABLED=1 $GO test -race -vet=off -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false \
		-gcflags=modernc.org/memory=-race=false -shuffle=on -short -timeout 20m "$@"
}
race $others && race -cpu 1 -parallel 4 $bubbles
