package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gauze-mcp/gauze/internal/tasks/taskcli"
	"github.com/gauze-mcp/gauze/internal/text/redact"
	"github.com/gauze-mcp/gauze/internal/text/shell"
	"github.com/gauze-mcp/gauze/temporal/flow"
)

// cluster is where Temporal is. options completes it from Temporal's own configuration.
type cluster struct {
	address, namespace, queue string
	tls                       bool
}

// options returns how the cluster is reached, and completes c.
func (c *cluster) options() (client.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return options, fmt.Errorf("invalid Temporal configuration: %w", err)
	}
	c.address = cmp.Or(c.address, options.HostPort, client.DefaultHostPort)
	c.namespace = cmp.Or(c.namespace, options.Namespace, client.DefaultNamespace)
	c.tls = options.ConnectionOptions.TLS != nil && !options.ConnectionOptions.TLSDisabled
	options.HostPort, options.Namespace, options.Logger = c.address, c.namespace, quiet{}
	return options, nil
}

// dial connects to the cluster.
func (c *cluster) dial(extra ...grpc.DialOption) (client.Client, error) {
	options, err := c.options()
	if err != nil {
		return nil, err
	}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, extra...)
	connected, err := client.Dial(options)
	if err != nil {
		return nil, c.explained(err)
	}
	return connected, nil
}

// with calls do with a client.
func (c *cluster) with(do func(*flow.Client) error) error {
	connected, err := c.dial()
	if err != nil {
		return err
	}
	defer connected.Close()
	return c.explained(do(&flow.Client{Temporal: connected, Queue: c.queue}))
}

// ref returns how a command line names a task of the cluster.
func (c *cluster) ref(id string) taskcli.Ref {
	words := []string{"--temporal", c.address}
	if c.namespace != client.DefaultNamespace {
		words = append(words, "--namespace", c.namespace)
	}
	return taskcli.Ref{Flags: shell.Here().Line(words...), ID: id}
}

// explained returns what an error of Temporal means for the user.
func (c *cluster) explained(err error) error {
	var missing *serviceerror.NamespaceNotFound
	var denied *serviceerror.PermissionDenied
	at := redact.Quote(c.address)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("the Temporal server at %s has no namespace %q. Use --namespace to choose another namespace, or create it:\n  temporal operator namespace create --address %s --namespace %s",
			at, redact.Quote(c.namespace), shell.Here().Quote(c.address), shell.Here().Quote(c.namespace))
	case errors.As(err, &denied), status.Code(err) == codes.Unauthenticated:
		return fmt.Errorf("the Temporal server at %s rejected the credentials for the namespace %q: check TEMPORAL_API_KEY, TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH\n%w", at, redact.Quote(c.namespace), err)
	case !c.tls && expectsTLS(err):
		return fmt.Errorf("the server at %s closed the connection without responding: it may require TLS. To use TLS, set TEMPORAL_TLS=true\n%w", at, err)
	case c.tls && strings.Contains(err.Error(), "first record does not look like a TLS handshake"):
		return fmt.Errorf("the server at %s does not use TLS. To connect without it, set TEMPORAL_TLS=false and unset TEMPORAL_API_KEY\n%w", at, err)
	case flow.IsUnreachable(err):
		return fmt.Errorf("the Temporal server at %s cannot be reached: check the address, and that the server is running\n%w", at, err)
	}
	return err
}

// expectsTLS reports whether the server ended the connection when it received something other than a
// TLS handshake.
func expectsTLS(err error) bool {
	text := err.Error()
	return strings.Contains(text, "server preface") || strings.Contains(text, "malformed HTTP response \"\\x15") || strings.Contains(text, "frame too large")
}

// quiet is a logger that reports only errors.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(message string, pairs ...any) {
	fmt.Fprintln(os.Stderr, "gauze:", redact.Passage(fmt.Sprint(append([]any{message}, pairs...)...)))
}

var _ log.Logger = quiet{}
