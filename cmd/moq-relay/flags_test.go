package main

import (
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"extra":                      "takes no arguments",
		"--cert x.pem":               "--cert and --key go together",
		"--cert no.pem --key no.pem": "no.pem",
		"--listen nowhere:99999":     "--listen nowhere:99999",
		"--listen 127.0.0.1:0 --ops nowhere:99999":             "--ops nowhere:99999",
		"--qlog-every -1":                                      "--qlog-every",
		"--qlog no/such/dir":                                   "--qlog",
		"--acme-domains a.example":                             "--acme-cache go together",
		"--acme-domains a --acme-cache b --cert c --key d":     "--acme-domains goes without",
		"--acme-domains , --acme-cache b":                      "--acme-domains",
		"--acme-domains a --acme-cache b --acme-http no:99999": "--acme-http",
		"--delivery-sample -1":                                 "--delivery-sample",
		"--track-metrics -1":                                   "--track-metrics",
		"--cache-bytes 0":                                      "--cache-bytes",
		"--max-lag -1s":                                        "--max-lag",
		"--log-level loud":                                     "log level",
		"--cc fast":                                            "--cc",
		"--what":                                               "-what",
		"--cert a --key b --cert-names x":                      "--cert-names",
		"--origins ::":                                         "origin",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-relay") }
