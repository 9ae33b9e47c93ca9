// Package cli is what the commands have in common: how they start and stop, how flags are read, what the exit
// codes mean and how a relay is dialled.
//
// A command's main is one call of [Main] with its run function, which tests call directly.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/moq-c4/moq-c4/internal/ops"
)

// Exit codes of all commands.
const (
	ExitOK       = 0 // done, or stopped by SIGINT or SIGTERM
	ExitFailed   = 1 // it did not work out; one line on stderr says why
	ExitUsage    = 2 // a bad flag, argument, file or certificate; one line on stderr says which
	ExitNotFound = 3 // the namespace or track is not there

	// ExitUnsupported is for a case that a test client does not have, as the runners of such clients want it.
	ExitUnsupported = 127
)

// Env is what a command gets from its process.
type Env struct {
	Args           []string // without the command's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run is a command. It returns when it is done or ctx ends; a context.Canceled that ctx caused is no failure.
type Run func(ctx context.Context, env Env) error

// Main runs a command with the process's arguments and streams, and exits. SIGINT and SIGTERM end its context; a
// second one kills the process. --version alone prints what the program was made from.
func Main(run Run) {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(ops.ReadBuild())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	env := Env{Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(ExitCode(ctx, run(ctx, env), os.Stderr))
}

// ExitCode turns a command's result into its exit code and prints the line that goes with it.
func ExitCode(ctx context.Context, err error, stderr io.Writer) int {
	var coded *codedError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return ExitOK
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return ExitOK
	case errors.As(err, &coded):
		fmt.Fprintln(stderr, "error:", oneLine(err))
		return coded.code
	}
	fmt.Fprintln(stderr, "error:", oneLine(err))
	return ExitFailed
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

type codedError struct {
	code int
	err  error
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// Usage makes an error that exits with ExitUsage.
func Usage(format string, args ...any) error {
	return &codedError{ExitUsage, fmt.Errorf(format, args...)}
}

// NotFound makes an error that exits with ExitNotFound.
func NotFound(format string, args ...any) error {
	return &codedError{ExitNotFound, fmt.Errorf(format, args...)}
}

// Unsupported makes an error that exits with ExitUnsupported.
func Unsupported(format string, args ...any) error {
	return &codedError{ExitUnsupported, fmt.Errorf(format, args...)}
}

// NewFlags returns a flag set that prints the given help before its flags.
func NewFlags(name, help string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(stderr, strings.TrimLeft(help, "\n"), "\nFlags:\n")
		printFlags(fs, stderr)
		fmt.Fprintf(stderr, "\n--version alone prints the version. Exit codes: %d done, %d failed, %d wrong use, %d not found.\n", ExitOK, ExitFailed, ExitUsage, ExitNotFound)
	}
	return fs
}

// printFlags lists the flags with two dashes, as the documentation writes them.
func printFlags(fs *flag.FlagSet, w io.Writer) {
	fs.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		dash := "--"
		if len(f.Name) == 1 {
			dash = "-"
		}
		line := "  " + dash + f.Name
		if value != "" {
			line += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		fmt.Fprintf(w, "%-28s %s\n", line, strings.ReplaceAll(usage, "\n", "\n"+strings.Repeat(" ", 29)))
	})
}

// Parse reads flags and arguments, which may come in any order, and returns the arguments.
// With --help the error is flag.ErrHelp.
func Parse(fs *flag.FlagSet, args []string) ([]string, error) {
	usage := fs.Usage
	fs.Usage = func() {} // an error is one line, not a page
	defer func() { fs.Usage = usage }()
	out := fs.Output()
	fs.SetOutput(io.Discard)
	defer fs.SetOutput(out)
	var rest []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				usage()
				return nil, err
			}
			return nil, Usage("%v (see %s --help)", err, fs.Name())
		}
		terminated := len(args) > fs.NArg() && args[len(args)-fs.NArg()-1] == "--"
		args = fs.Args()
		if len(args) == 0 || terminated {
			return append(rest, args...), nil
		}
		rest = append(rest, args[0])
		args = args[1:]
	}
}
