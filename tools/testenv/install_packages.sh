# Installs Debian packages without starting the services that some of them bring (see invoke-rc.d(8)).
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d} # named otherwise by tests of this script alone

if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
install() { apt-get install -qy --no-install-recommends PACKAGES; }
install || { apt-get update -q || true; install; }
