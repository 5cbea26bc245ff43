#!/bin/sh
# What many tenants cost one node: time to make one, time to start, resident memory, connections, disk.
#
#   lab/many-tenants.sh [tenants]      CARREL=target/release/carrel DATA=/tmp/carrel-tenants PORT=9140
#
# Makes the tenants that DATA lacks; needs curl, awk and psql.
set -eu
carrel=${CARREL:-target/release/carrel}
data=${DATA:-/tmp/carrel-tenants}
port=${PORT:-9140}
tenants=${1:-200}
at=http://127.0.0.1:$port
log=$(mktemp)
server=
trap 'kill -INT "$server" 2>/dev/null; rm -f "$log"' EXIT INT TERM
export CARREL_ADMIN_PASSWORD=many-tenants

now() { date +%s%N; }
memory() { awk '/^VmRSS/ { printf "%.1f MiB", $2 / 1024 }' "/proc/$server/status"; }
ask() { psql -qtAX -h "$data/run" -U carrel -d postgres -c "$1"; }
login() { curl -s -o /dev/null -w '%{http_code}' -H "X-Okapi-Tenant: $1" -H 'Content-Type: application/json' \
    -d '{"username":"chief","password":"many-tenants"}' "$at/authn/login"; }

start() {
    "$carrel" serve --data "$data" --port "$port" --open-metrics >"$log" 2>&1 & server=$!
    until curl -sf -o /dev/null "$at/admin/health"; do sleep 0.05; kill -0 "$server" || { cat "$log"; exit 1; }; done
}

start
known=$(ask 'SELECT count(*) FROM platform.tenant')
began=$(now)
number=$known
while [ "$number" -lt "$tenants" ]; do
    number=$((number + 1))
    "$carrel" tenant create "t$number" --admin chief --data "$data" >/dev/null 2>&1
done
[ "$tenants" -gt "$known" ] && echo "making a tenant: $((($(now) - began) / 1000000 / (tenants - known))) ms"
kill -INT "$server"
wait "$server" || true

began=$(now)
start
until [ "$(login "t$tenants")" = 201 ]; do sleep 0.05; kill -0 "$server" || { cat "$log"; exit 1; }; done
echo "start of PostgreSQL and server until the last tenant's log-in is answered: $((($(now) - began) / 1000000)) ms"
echo "resident memory with $tenants tenants, one used: $(memory)"
number=0
while [ "$number" -lt "$tenants" ]; do
    number=$((number + 1))
    code=$(login "t$number")
    [ "$code" = 201 ] || { echo "log-in of t$number: $code"; exit 1; }
done
echo "resident memory after a log-in to each: $(memory)"
echo "connections then: $(ask "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'") of $(ask 'SHOW max_connections')"
sleep 65
echo "65 s later: $(memory), connections: $(ask "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")"
token=$(curl -si "$at/authn/login" -H 'X-Okapi-Tenant: t1' -d '{"username":"chief","password":"many-tenants"}' |
    sed -n 's/^x-okapi-token: //p' | tr -d '\r')
sleep 65
read_once() { curl -s -o /dev/null -w '%{time_total} s' -H "X-Okapi-Token: $token" "$at/groups?limit=1"; }
echo "a read of a tenant without open connections: $(read_once), and the next one: $(read_once)"
backends=$(ask "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE application_name LIKE 'carrel library%'")
for backend in $backends; do awk '/^Pss:/ { print $2 }' "/proc/$backend/smaps_rollup"; done |
    awk '{ sum += $1 } END { printf "memory of a connection of a tenant: %.1f MiB\n", sum / NR / 1024 }'
began=$(awk '{ print $14 + $15 }' "/proc/$server/stat")
sleep 30
ticks=$(($(awk '{ print $14 + $15 }' "/proc/$server/stat") - began))
echo "processor time of the idle server: $ticks ticks of 10 ms in 30 s"
echo "jobs in the table: $(ask 'SELECT count(*) FROM platform.job'), late ones: $(ask "SELECT count(*) FROM platform.job WHERE due < clock_timestamp() - interval '60 seconds'")"
echo "disk of a tenant: $(ask "SELECT pg_size_pretty(pg_database_size('postgres') / $tenants)"), tables and indexes of one: $(ask "SELECT count(*) FROM pg_class WHERE relnamespace = 'library_t1'::regnamespace AND relkind IN ('r', 'i')")"
