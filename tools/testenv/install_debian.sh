# Installs Debian's PostgreSQL server without letting the distribution make or start a cluster of its own.
set -eu
export DEBIAN_FRONTEND=noninteractive
conf=/etc/postgresql-common/createcluster.conf

# An old list of packages may still do; apt-get install says so if it does not.
apt-get update -q || true
apt-get install -qy --no-install-recommends postgresql-common
cp -p "$conf" "$conf.einmal"
trap 'mv "$conf.einmal" "$conf"' EXIT
echo "create_main_cluster = false" >>"$conf"
apt-get install -qy --no-install-recommends postgresql
