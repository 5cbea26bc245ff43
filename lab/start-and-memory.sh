#!/bin/sh
# Time from the start of the process to the first answered check-out, five times over, and the server's resident
# memory over a stream of scans.
#
#   lab/start-and-memory.sh [seconds of scanning]      CARREL=target/release/carrel DATA=/tmp/carrel-measure PORT=9139
#
# Uses the sample library; needs curl and awk.
set -eu
carrel=${CARREL:-target/release/carrel}
data=${DATA:-/tmp/carrel-measure}
port=${PORT:-9139}
seconds=${1:-60}
at=http://127.0.0.1:$port
desk=3a40852d-49fd-4df2-a1f9-6e2641a6e91f
log=$(mktemp)
server=
trap 'kill -INT "$server" 2>/dev/null; rm -f "$log" "$log.calls"' EXIT INT TERM

start() { "$carrel" "$1" --data "$data" --port "$port" --open-metrics >"$log" 2>&1 & server=$!; }
stop() { kill -INT "$server"; wait "$server" || true; }
now() { date +%s%N; }
call() { curl -s -o /dev/null -w '%{http_code}' -H "X-Okapi-Token: $token" -H 'Content-Type: application/json' "$@" || true; }
value() { curl -s -H "X-Okapi-Token: $token" "$at$1" | tr ',' '\n' | sed -n "s/.*\"barcode\" *: *\"\([^\"]*\)\".*/\1/p"; }
memory() { curl -s "$at/metrics" | awk '/^process_resident_memory_bytes/ { printf "%.1f", $2 / 1048576 }'; }
scans() { curl -s "$at/metrics" | awk '/^carrel_requests_total.*module="mod-circulation",class="2xx"/ { print $2 }'; }

start demo
until grep -q 'Ctrl-C stops it' "$log"; do sleep 0.2; kill -0 "$server" || { cat "$log"; exit 1; }; done
token=$(curl -si "$at/authn/login" -H 'X-Okapi-Tenant: diku' -d '{"username":"diku_admin","password":"admin"}' |
    sed -n 's/^x-okapi-token: //p' | tr -d '\r')
items=$(value "/item-storage/items?limit=400&query=permanentLoanTypeId==2b94c631-fca9-4892-a730-03ee529ffe27%20and%20status.name==Available%20sortBy%20barcode")
patrons=$(value "/users?limit=40&query=active==true%20and%20barcode=2900000*%20sortBy%20barcode")
item=$(echo "$items" | head -n 1)
patron=$(echo "$patrons" | head -n 1)
stop

echo "start to first answered check-out, existing data, milliseconds:"
for _ in 1 2 3 4 5; do
    began=$(now)
    start serve
    until [ "$(call "$at/circulation/check-out-by-barcode" -d "{\"itemBarcode\":\"$item\",\"userBarcode\":\"$patron\",\"servicePointId\":\"$desk\"}")" = 201 ]; do
        kill -0 "$server" || { cat "$log"; exit 1; }
        sleep 0.01
    done
    echo "  $((($(now) - began) / 1000000))"
    call "$at/circulation/check-in-by-barcode" -d "{\"itemBarcode\":\"$item\",\"servicePointId\":\"$desk\",\"checkInDate\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}" >/dev/null
    stop
done

echo "resident memory while scanning:"
# Each line of the file is a check-out and a check-in for curl, which keeps its connection.
start serve
until [ "$(call "$at/admin/health")" = 200 ]; do sleep 0.05; done
when=$(date -u +%Y-%m-%dT%H:%M:%SZ)
echo "$items" | awk -v at="$at" -v desk="$desk" -v token="$token" -v when="$when" -v patrons="$(echo "$patrons" | tr '\n' ' ')" '
    BEGIN { n = split(patrons, patron, " ") }
    function one(path, body) {
        if (calls++) print "next"
        printf "url = \"%s%s\"\nheader = \"X-Okapi-Token: %s\"\nheader = \"Content-Type: application/json\"\n", at, path, token
        gsub(/"/, "\\\"", body)
        printf "data = \"%s\"\noutput = /dev/null\nsilent\n", body
    }
    { one("/circulation/check-out-by-barcode", "{\"itemBarcode\":\"" $1 "\",\"userBarcode\":\"" patron[NR % n + 1] "\",\"servicePointId\":\"" desk "\"}")
      one("/circulation/check-in-by-barcode", "{\"itemBarcode\":\"" $1 "\",\"servicePointId\":\"" desk "\",\"checkInDate\":\"" when "\"}") }
' >"$log.calls"
ends=$(($(date +%s) + seconds))
while [ "$(date +%s)" -lt "$ends" ]; do
    # Two desks.
    curl -K "$log.calls" & other=$!
    curl -K "$log.calls"
    wait "$other" || true
    echo "  $(scans) scans: $(memory) MiB"
done | awk '{ kept[NR] = $0 } NR == 1 || NR % 5 == 0 { print } END { if (NR % 5) print kept[NR] }'
stop
