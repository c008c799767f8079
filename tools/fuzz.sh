#!/usr/bin/env bash
# Runs each fuzz test of the product for the given time (default 2m), one after the other.
set -euo pipefail
time=${1:-2m}
cd "$(dirname "$0")/.."

# `go test -list` prints the names of a package's tests, then a line "ok <package> …".
go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names = names " " $1 } /^ok/ { n = split(names, a, " "); for (i = 1; i <= n; i++) print $2, a[i]; names = "" }' |
	while read -r package name; do
		echo "fuzz: $package $name"
		# Inputs are not made smaller: where coverage differs from run to run that takes a minute each, and nothing else
		# is tried meanwhile.
		go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1x "$package" </dev/null
	done
