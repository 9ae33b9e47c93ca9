// Package e2e tests the commands together, as a user runs them: ffmpeg into moq-pub, through moq-relay, to
// moq-sub. The programs are built with the race detector and run as processes.
package e2e
