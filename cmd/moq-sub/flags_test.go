package main

import (
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"":                                      "the relay's URL",
		"localhost":                             "bad URL",
		"--stats moqt://x":                      "namespace is missing",
		"--track a moqt://x":                    "namespace is missing",
		"--namespace a --audio loud moqt://x":   "--audio",
		"--namespace a -o - --json moqt://x":    "standard output",
		"--namespace a --duration -1s moqt://x": "--duration",
		"--namespace a -o /no/such/dir/x.mp4 moqt://x":    "-o:",
		"--namespace a --csv /no/such/dir/x.csv moqt://x": "--csv:",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-sub") }
