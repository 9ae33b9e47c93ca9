package main

import (
	"testing"

	"github.com/moq-c4/moq-c4/cmd/internal/clitest"
)

func TestWrongUse(t *testing.T) {
	clitest.WrongUse(t, run, map[string]string{
		"sing":            "unknown argument",
		"--subscribers 0": "--subscribers",
		"--transport tcp": "--transport",
		"fanout ftp://x":  "bad URL",
		"--duration 1ms":  "--duration",
	})
}

func TestFlagsAreDocumented(t *testing.T) { clitest.FlagsDocumented(t, run, "moq-bench") }
