package main

import (
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"":                       "the relay's URL",
		"--namespace a http://x": "bad URL",
		"--namespace a --synthetic --ops nowhere:99999 moqt://x": "--ops nowhere:99999",
		"moqt://localhost:1":                                         "namespace is missing",
		"--namespace a//b moqt://localhost:1":                        "--namespace",
		"--namespace a --packaging flv moqt://x":                     "--packaging",
		"--namespace a --loop moqt://x":                              "--loop needs a file",
		"--namespace a --synthetic --loop moqt://x":                  "--synthetic",
		"--namespace a --input no-such.mp4 moqt://x":                 "no-such.mp4",
		"--namespace a --tls-fingerprint 12 moqt://x":                "--tls-fingerprint",
		"--namespace a --tls-insecure --tls-fingerprint 12 moqt://x": "exclude each other",
		"--namespace a --input flags.go moqt://x":                    "--input",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-pub") }
