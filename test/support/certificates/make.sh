#!/bin/sh
# Makes the certificates that the tests of peering over TLS use, good from 2020 for 100 years: the tests need no openssl,
# and do not care much about the machine's clock. The members' keys are public and protect nothing. Run it to make all
# of them anew.
set -eu
cd "$(dirname "$0")"
rm -f ./*.pem
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/config" <<CONFIG
[ca]
default_ca = any
[any]
dir = $work
new_certs_dir = $work
database = $work/database
rand_serial = yes
default_md = sha256
policy = name
unique_subject = no
[name]
commonName = supplied
[req]
distinguished_name = nothing
[nothing]
CONFIG

sign() { # name, extensions, not after, what signs it ...
  name=$1 after=$3
  printf '%s\n' "$2" > "$work/extensions"
  shift 3
  : > "$work/database"
  openssl req -new -config "$work/config" -key "$work/$name-key.pem" -subj "/CN=$name" -out "$work/request"
  openssl ca -batch -notext -config "$work/config" -in "$work/request" -out "$name.pem" -extfile "$work/extensions" \
    -startdate 20200101000000Z -enddate "$after" "$@"
}

key() {
  openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:prime256v1 -out "$work/$1-key.pem"
}

authority() {
  key "$1"
  sign "$1" "$(printf 'basicConstraints=critical,CA:true\nkeyUsage=critical,keyCertSign\nsubjectKeyIdentifier=hash')" \
    21200101000000Z -selfsign -keyfile "$work/$1-key.pem"
}

member() { # name, authority, subject alternative names, not after
  key "$1"
  cp "$work/$1-key.pem" .
  sign "$1" "$(printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nkeyUsage=digitalSignature' "$3")" \
    "$4" -cert "$2.pem" -keyfile "$work/$2-key.pem"
}

here=DNS:localhost,IP:127.0.0.1
authority cluster
authority stranger
member edge-a cluster "$here" 21200101000000Z
member edge-b cluster "$here" 21200101000000Z
# Of another cluster, of another machine, and out of date.
member outsider stranger "$here" 21200101000000Z
member elsewhere cluster DNS:elsewhere.example 21200101000000Z
member expired cluster "$here" 20200102000000Z
