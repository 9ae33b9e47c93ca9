// Command moq-interop tests a Media-over-QUIC relay from outside, its own or another project's. It follows the contract of
// the public moq-interop-runner for test clients: its flags, environment, output and exit codes.
//
// cases.go names the cases, cases_requests.go and cases_data.go have them; origin.go is the publisher that they use, tester.go
// connects, tap.go prints.
package main

import "github.com/moq-c4/moq-c4/cmd/internal/cli"

func main() { cli.Main(run) }
