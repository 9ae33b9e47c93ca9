package emu

import (
	"syscall"
	"time"
)

// nap sleeps by the kernel's timer, which is some 50 us late.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	syscall.Nanosleep(&t, nil)
}
