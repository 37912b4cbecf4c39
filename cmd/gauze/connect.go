package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/hub/attach"
	"github.com/gauze-mcp/gauze/internal/hub/upfile"
	"github.com/gauze-mcp/gauze/internal/text/terminal"
	"github.com/gauze-mcp/gauze/internal/workshop/backup"
)

// connectFlags are the flags of gauze connect.
type connectFlags struct {
	profile, file string
	private       []string
}

func connectCommand() *cobra.Command {
	f := &connectFlags{}
	cmd := &cobra.Command{
		Use:   "connect [SERVER]",
		Short: "Connect a client to all your servers, over stdio",
		Long: "Connect an MCP client on stdin and stdout to the servers of gauze up: all of them, those\n" +
			"of a profile, or one SERVER. If gauze up is not running, gauze connect starts it in the\n" +
			"background, where it exits 5 minutes after its last client. If that fails, gauze\n" +
			"connect runs the servers itself. A server gets the working directory and the\n" +
			"environment of the client that it works for.",
		Example: "gauze connect\n" +
			"gauze connect --profile review\n" +
			"gauze connect github",
		Args:              atMost(1),
		ValidArgsFunction: f.completeKeys,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().StringVar(&f.profile, "profile", "", "`name` of the profile to connect to (default: all servers)")
	cmd.Flags().StringVar(&f.file, "file", "", "`file` of gauze up (default: gauze/up.yaml in your configuration directory)")
	cmd.Flags().StringSliceVar(&f.private, "private", nil, "comma-separated `names` of environment variables that only servers that refer to them receive")
	return cmd
}

// completeKeys completes the key of a server of the file.
func (f *connectFlags) completeKeys(_ *cobra.Command, args []string, prefix string) (keys []string, _ cobra.ShellCompDirective) {
	path, err := upFile(f.file)
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	file, err := upfile.Read(path, upfile.Options{})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, s := range file.Servers {
		if strings.HasPrefix(s.Key, prefix) {
			keys = append(keys, s.Key)
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

func (f *connectFlags) run(cmd *cobra.Command, args []string) error {
	h, err := f.hello(args)
	if err != nil {
		return usage(cmd, err)
	}
	file, err := upFile(f.file)
	if err != nil {
		return err
	}
	if terminal.Is(os.Stdin) {
		fmt.Fprintln(os.Stderr, "gauze: waiting for an MCP client on stdin. This command belongs in a client's configuration; press Ctrl-C to stop.")
	}
	reduceMemory(busyWrap)
	conn, err := attachTo(cmd.Context(), file, h)
	var refused *attach.Refusal
	switch {
	case err == nil:
		again := func(ctx context.Context) (*attach.Conn, error) { return attachTo(ctx, file, h) }
		return whileRead(cmd.Context(), func(ctx context.Context, in io.Reader) error {
			return attach.Relay(ctx, conn, again, in, os.Stdout)
		})
	case errors.As(err, &refused): // this process would refuse it as well
		return err
	}
	if _, invalid := upfile.Read(file, upfile.Options{}); invalid != nil { // this process cannot serve it either
		return invalid
	}
	why := strings.TrimSuffix(strings.ReplaceAll(err.Error(), "\n", "; "), ".") // Windows ends its messages with a period
	fmt.Fprintf(os.Stderr, "gauze: %s. This client gets servers of its own.\n", why)
	return whileRead(cmd.Context(), func(ctx context.Context, in io.Reader) error {
		return serveAlone(ctx, h, file, in, os.Stdout)
	})
}

// whileRead calls serve with our stdin. After its end, ctx ends once our stdout has no reader.
func whileRead(ctx context.Context, serve func(ctx context.Context, in io.Reader) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unread := func() {
		untilUnread(ctx)
		cancel()
	}
	return serve(ctx, &thenReader{os.Stdin, func() { go unread() }})
}

// thenReader calls then at the end of a reader: a client that has closed its side still gets the
// responses that are due, as long as it reads them.
type thenReader struct {
	io.Reader
	then func()
}

func (r *thenReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil {
		r.then()
	}
	return n, err
}

// hello returns what gauze up has to know about this client.
func (f *connectFlags) hello(args []string) (attach.Hello, error) {
	h := attach.Hello{Profile: f.profile, Env: upfile.Private(os.Environ(), f.private), Version: versionText()}
	if len(args) == 1 {
		h.Server = args[0]
	}
	if h.Server != "" && h.Profile != "" {
		return h, errors.New("use either SERVER or --profile")
	}
	var err error
	h.Dir, err = os.Getwd()
	return h, err
}

// attachTo attaches to the gauze up of a file, which it starts if it is not running.
func attachTo(ctx context.Context, file string, h attach.Hello) (*attach.Conn, error) {
	state, err := backup.StateDir()
	if err != nil {
		return nil, err
	}
	place := attach.Place{State: state, File: file}
	return attach.Connect(ctx, place, h, func(ctx context.Context) error {
		program, err := os.Executable()
		if err != nil {
			return err
		}
		return attach.Start(ctx, place, program, "up", "--on-demand", file)
	})
}

// lingering is how long a gauze up that was started on demand waits for its next client. The tests do not wait that long.
var lingering = attach.DefaultIdle

// listenOnDemand is how gauze up --on-demand begins to listen. It tells the gauze connect that has
// started it, and reports attach.ErrRunning if another process was first.
func listenOnDemand(ctx context.Context, place attach.Place) (*attach.Listener, error) {
	l, err := attach.ListenOnDemand(ctx, place, versionText(), lingering)
	if errors.Is(err, attach.ErrRunning) {
		attach.Ready(nil)
		return nil, err
	}
	attach.Ready(err)
	return l, err
}

// upFile returns the absolute path of the file of gauze up: the given one, or the user's. A project's
// file is never used without being given: it decides what is started.
func upFile(given string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("%w; pass the file of gauze up with --file", err)
	}
	return filepath.Join(dir, "gauze", "up.yaml"), nil
}
