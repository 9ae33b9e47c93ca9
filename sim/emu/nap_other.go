//go:build !linux

package emu

import "time"

func nap(d time.Duration) { time.Sleep(d) }
