#!/bin/sh
# make fuzz: every fuzz target, each for the time that the argument says.
for pkg in $($GO list ./...); do
	for target in $($GO test -list '^Fuzz' $pkg | grep '^Fuzz'); do
		echo "== $pkg $target"
		$GO test -run '^$' -fuzz "^$target\$" -fuzztime $1 $pkg || exit 1
	done
done
