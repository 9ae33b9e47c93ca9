// Package deploy has no code: beside it are the files with which relays are run and watched, and here are their tests.
package deploy
