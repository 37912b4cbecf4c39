package login

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/gauze-mcp/gauze/internal/wrap/launch"
)

// browserTimeout is how long a program that opens addresses may take to fail.
const browserTimeout = 2 * time.Second

// OpenBrowser opens an address in the user's browser: with the programs in BROWSER if that is set,
// else as the system does it. It opens nothing but https addresses and addresses of this machine.
func OpenBrowser(address string) error {
	if err := openable(address); err != nil {
		return err
	}
	commands := browsers(runtime.GOOS, address, os.Getenv)
	if len(commands) == 0 {
		return errors.New("this session has no display for a browser")
	}
	var failed error
	for _, command := range commands {
		if failed = start(command); failed == nil {
			return nil
		}
	}
	return fmt.Errorf("no browser could be started: %w", failed)
}

// openable returns an error unless an address is https, or http on this machine.
func openable(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("cannot open %q: it is not a valid address", shown(address))
	case u.Scheme != "https" && (u.Scheme != "http" || !launch.IsLoopback(u.Hostname())):
		return fmt.Errorf("cannot open %s://%s: only https addresses, and http addresses on this machine, are allowed", shown(u.Scheme), shown(u.Host))
	}
	return nil
}

// browsers returns the commands to try, each with its arguments. No shell sees the address.
func browsers(system, address string, env func(string) string) (commands [][]string) {
	for entry := range strings.SplitSeq(env("BROWSER"), string(os.PathListSeparator)) {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		var placed bool
		for i, word := range words {
			if strings.Contains(word, "%s") && i > 0 {
				words[i], placed = strings.ReplaceAll(word, "%s", address), true
			}
		}
		if !placed {
			words = append(words, address)
		}
		commands = append(commands, words)
	}
	switch system {
	case "windows":
		commands = append(commands, []string{"rundll32", "url.dll,FileProtocolHandler", address})
	case "darwin":
		commands = append(commands, []string{"open", address})
	default:
		if env("WSL_DISTRO_NAME") != "" {
			commands = append(commands, []string{"wslview", address})
		}
		// Without a display, xdg-open starts a browser for terminals.
		if env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "" || env("WSL_DISTRO_NAME") != "" {
			commands = append(commands, []string{"xdg-open", address})
		}
	}
	return commands
}

// start starts a program and returns an error if it fails soon.
func start(command []string) error {
	cmd := exec.Command(command[0], command[1:]...) // without input and output: they are the client's
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s failed: %w", command[0], err)
		}
	case <-time.After(browserTimeout): // it is the browser itself
	}
	return nil
}

// Paste returns a Show for a person whose browser is on a different machine: it writes the address
// to out, and reads from in the address that the browser could not open after the login.
func Paste(in io.Reader, out io.Writer) Show {
	lines := bufio.NewScanner(in)
	return func(ctx context.Context, p Page) error {
		if err := openable(p.Address); err != nil {
			return err
		}
		u, err := url.Parse(p.Address)
		if err != nil {
			return err
		}
		redirect := u.Query().Get("redirect_uri")
		fmt.Fprintf(out, "Open this address in a browser and log in:\n\n%s\n\nAfter you log in, the browser is redirected to an address that begins with %s\nIf the browser is on another machine, that page will not load. Paste its whole address here:\n", p.Address, redirect)
		go func() {
			for lines.Scan() && ctx.Err() == nil {
				pasted := strings.TrimSpace(lines.Text())
				if pasted == "" {
					continue
				}
				if err := deliver(ctx, pasted, redirect); err != nil {
					fmt.Fprintf(out, "%v. Paste the address from the browser's address bar:\n", err)
					continue
				}
				return
			}
		}()
		return nil
	}
}

// deliver sends a pasted address to the callback, which is on this machine.
func deliver(ctx context.Context, pasted, redirect string) error {
	u, err := url.Parse(pasted)
	to, bad := url.Parse(redirect)
	if err != nil || bad != nil || !launch.SameOrigin(u, to) || u.Path != to.Path || u.Query().Get("state") == "" {
		return fmt.Errorf(`this is not the callback address: it must begin with "%s?"`, redirect)
	}
	if !launch.IsLoopback(u.Hostname()) {
		return errors.New("this is not an address on this machine")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return errors.New("this is not an address")
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // without a proxy
	res, err := client.Do(req)
	if err != nil {
		return cause(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return errors.New("this address is for a different login")
	}
	return nil
}
