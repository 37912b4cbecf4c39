package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gauze-mcp/gauze/internal/clientconfig"
	"github.com/gauze-mcp/gauze/internal/fleet"
	"github.com/gauze-mcp/gauze/internal/plaintext"
	"github.com/gauze-mcp/gauze/internal/redact"
)

// listFlags are the settings of gauze list.
type listFlags struct {
	clients []string
	known   bool
	json    bool
}

// listCommand shows every server of every client.
func listCommand() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the MCP servers of all clients on this machine",
		Long: "Read the files of all MCP clients, and those of the project in this folder, and show the servers in them: how each is started or\n" +
			"reached, without secrets, whether it is wrapped, switched off or broken, and where it stands. Nothing is started.",
		Example: "gauze list\ngauze list --client cursor,codex\ngauze list --clients",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	clientFlag(cmd, &f.clients)
	cmd.Flags().BoolVar(&f.known, "clients", false, "the clients that are known, whether they are in use here, and their files")
	cmd.Flags().BoolVar(&f.json, "json", false, "as JSON")
	return cmd
}

func (f *listFlags) run(cmd *cobra.Command) error {
	fl, err := fleet.Here(versionText())
	if err != nil {
		return err
	}
	clients, err := fleet.Clients(f.clients)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if f.known {
		if len(clients) == 0 {
			clients = clientconfig.Clients()
		}
		return f.listClients(out, fl, clients)
	}
	view := fl.Look(clients...)
	if f.json {
		_, err = out.Write(jsonLine(listedOf(view)))
		return err
	}
	_, err = io.WriteString(out, showList(fl, view, clients, paint(colourful(out))))
	return err
}

// listed is the answer for programs.
type listed struct {
	Servers  []listedServer `json:"servers"`
	Problems []problem      `json:"problems"` // of files as a whole
}

type listedServer struct {
	Client   string    `json:"client"`
	Name     string    `json:"name"`
	Scope    string    `json:"scope"`
	File     string    `json:"file"`
	Line     int       `json:"line"`
	Server   string    `json:"server"` // how it is started or reached, without secrets
	Wrapped  bool      `json:"wrapped"`
	Disabled bool      `json:"disabled"`
	Project  bool      `json:"project"` // it comes with the project, and nobody has agreed to run it
	Standing []string  `json:"standing"`
	Problems []problem `json:"problems"`
}

// problem is one that a file has, for programs.
type problem struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Client   string `json:"client"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	What     string `json:"what"`
	Why      string `json:"why"`
	Next     string `json:"next"`
	Fixable  bool   `json:"fixable"` // gauze doctor --fix does it
}

func problemsOf(all []clientconfig.Problem) []problem {
	made := []problem{}
	for _, p := range all {
		made = append(made, problem{string(p.Code), p.Severity.String(), p.Client.ID, p.File, p.Line, p.Column, p.What, p.Why, p.Next, p.Fix != nil && fleet.WithReview(p)})
	}
	return made
}

func listedServerOf(s *fleet.Server) listedServer {
	return listedServer{
		Client: s.Client.ID, Name: s.Name, Scope: string(s.Scope), File: s.File, Line: s.Line, Server: s.Shown(),
		Wrapped: s.Wrapped, Disabled: s.Disabled, Project: s.Foreign(), Standing: append([]string{}, s.Standing()...), Problems: problemsOf(s.Problems),
	}
}

func listedOf(view *fleet.View) listed {
	l := listed{Servers: []listedServer{}, Problems: problemsOf(view.Problems)}
	for _, s := range view.Servers {
		l.Servers = append(l.Servers, listedServerOf(s))
	}
	return l
}

// showList is for people: client by client.
func showList(fl *fleet.Fleet, view *fleet.View, clients []*clientconfig.Client, p paint) string {
	var b strings.Builder
	wide := 0
	for _, s := range view.Servers {
		wide = max(wide, min(len([]rune(s.Name)), 24))
	}
	last := ""
	for _, s := range view.Servers {
		if s.Client.ID != last {
			fmt.Fprintf(&b, "%s%s %s\n", before(last), p.in("1", s.Client.Name), p.in("2", s.Client.ID))
			last = s.Client.ID
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, redact.Quote(s.Name), shortened(s.Shown(), 90))
		where := fmt.Sprintf("%s:%d", plaintext.Clean(fl.Tilde(s.File)), s.Line)
		line := p.in("2", where)
		if standing := s.Standing(); len(standing) > 0 {
			words := strings.Join(standing, ", ")
			if len(s.Errors()) > 0 {
				words = p.red(words)
			}
			line = words + "  " + line
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, "", line)
	}
	for i, problem := range view.Problems {
		if i == 0 {
			b.WriteString(before(last))
		}
		fmt.Fprintf(&b, "%s %s: %s\n", p.red("✗"), plaintext.Clean(fl.Tilde(problem.File)), problem.What)
	}
	switch {
	case len(view.Servers) > 0:
		fmt.Fprintf(&b, "\n%s in %s. Whether they work: gauze doctor\n", plural(len(view.Servers), "server"), plural(view.Files(), "file"))
	case len(view.Problems) > 0:
		b.WriteString("\nNo server could be read. What is wrong, and what can be done: gauze doctor --static\n")
	default:
		b.WriteString(showNone(fl, view, clients))
	}
	return b.String()
}

func before(last string) string {
	if last == "" {
		return ""
	}
	return "\n"
}

// showNone says where was looked, and what to type next.
func showNone(fl *fleet.Fleet, view *fleet.View, clients []*clientconfig.Client) string {
	var b strings.Builder
	b.WriteString("No MCP server was found.\n\n")
	if used := inUse(fl); len(used) > 0 && len(clients) == 0 {
		fmt.Fprintf(&b, "There are signs of %s, but no servers in their files.\n", strings.Join(used, ", "))
	}
	for _, c := range view.Configs {
		fmt.Fprintf(&b, "  read: %s\n", plaintext.Clean(fl.Tilde(c.Path)))
	}
	for i, file := range fl.Home.Places(clients...) {
		if i == 8 {
			b.WriteString("  … and more: gauze list --clients shows every place\n")
			break
		}
		if !file.Exists {
			fmt.Fprintf(&b, "  not there: %s (%s)\n", plaintext.Clean(fl.Tilde(file.Path)), file.Client.Name)
		}
	}
	b.WriteString("\nTo find a server: gauze search WORDS; to add one: gauze add NAME PACKAGE-or-URL --client CLIENT\n")
	return b.String()
}

// listedClient is a client for programs.
type listedClient struct {
	ID    string       `json:"id"`
	Name  string       `json:"name"`
	InUse bool         `json:"inUse"`
	Note  string       `json:"note,omitempty"`
	Files []listedFile `json:"files"`
}

type listedFile struct {
	Path   string `json:"path"`
	Scope  string `json:"scope"`
	Exists bool   `json:"exists"`
	Old    string `json:"old,omitempty"` // no longer read: what to know
}

func (f *listFlags) listClients(w io.Writer, fl *fleet.Fleet, clients []*clientconfig.Client) error {
	var b strings.Builder
	p := paint(colourful(w))
	all := []listedClient{}
	for _, c := range clients {
		one := listedClient{ID: c.ID, Name: c.Name, InUse: fl.Home.Uses(c), Note: c.Message, Files: []listedFile{}}
		mark := p.in("2", "–")
		if one.InUse {
			mark = p.green("✓")
		}
		fmt.Fprintf(&b, "%s %s %s\n", mark, p.in("1", c.Name), p.in("2", c.ID))
		if c.Message != "" {
			fmt.Fprintf(&b, "    %s\n", c.Message)
		}
		for _, file := range fl.Home.Places(c) {
			one.Files = append(one.Files, listedFile{file.Path, string(file.Place.Scope), file.Exists, file.Place.Old})
			if file.Place.Old != "" && !file.Exists {
				continue
			}
			there := p.in("2", "not there")
			if file.Exists {
				there = "there"
			}
			fmt.Fprintf(&b, "    %-9s  %s  %s\n", there, plaintext.Clean(fl.Tilde(file.Path)), p.in("2", string(file.Place.Scope)))
		}
		all = append(all, one)
	}
	text := []byte(b.String())
	if f.json {
		text = jsonLine(struct {
			Clients []listedClient `json:"clients"`
		}{all})
	}
	_, err := w.Write(text)
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shortened cuts a line that would not fit.
func shortened(text string, most int) string {
	all := []rune(text)
	if len(all) <= most {
		return text
	}
	return string(all[:most-1]) + "…"
}
