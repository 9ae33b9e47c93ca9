//go:build race

package moqt

const raceEnabled = true
