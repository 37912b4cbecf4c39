package upfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gauze-mcp/gauze/internal/disk/files"
	"github.com/gauze-mcp/gauze/internal/text/document"
	"github.com/gauze-mcp/gauze/internal/workshop/fleet"
)

// Options are what a file is read with.
type Options struct {
	// Fleet knows the files of clients, the environment, and what the user has confirmed. nil: those of
	// the current user.
	Fleet *fleet.Fleet
	// Watch is called for each path on which the result depends, before it is read, also if the file is
	// not valid. May be nil.
	Watch func(path string)
	// Private are environment variables that only servers that refer to them receive, besides those with the
	// tokens of the file.
	Private []string
}

// maxFileBytes limits the size of a file.
const maxFileBytes = 1 << 20

// Read reads a file and validates it completely. If it is not valid, the error is of type Problems and
// has everything that is wrong with it. A problem in another file does not make it invalid: Missing has it.
func Read(path string, o Options) (*File, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Watch != nil {
		o.Watch(full)
	}
	text, err := readText(path)
	if errors.Is(err, fs.ErrNotExist) && full != DefaultPath() {
		return nil, fmt.Errorf("%s does not exist. For what such a file contains, see docs/up.md", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist. To write it from the entries of your clients, run gauze wrap --up; to write it yourself, see docs/up.md", path)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %s", path, files.Reason(err))
	}
	if o.Fleet == nil {
		if o.Fleet, err = fleet.Here(""); err != nil {
			return nil, err
		}
	}
	return parse(path, full, text, o)
}

func readText(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // opening a FIFO could block
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("it is larger than %d bytes", maxFileBytes)
	}
	return text, err
}

// reader reads one file.
type reader struct {
	document.Reader
	fleet   *fleet.Fleet // in the directory of the file
	foreign bool         // the file is part of a project
	file    *File
	told    func(path string) // Options.Watch

	looked  map[string]looked // by the client or the path
	private []string          // Options.Private, and the variables with tokens
	written map[string]int    // the lines of the section servers, by key
	claimed map[string]bool   // entries that have a key of their own in servers
	tried   []string          // keys of servers, also of those with problems
	left    map[string]string // why an entry with this key is not among the servers
	partial bool              // an include has a problem, so that more servers may exist
	missing document.Reader   // its Problems are those of other files
}

// parse reads the text of a file. full is its absolute path.
func parse(path, full string, text []byte, o Options) (*File, error) {
	root, problems := document.Read(text, "servers or include")
	if root == nil {
		return nil, Problems(problems.In(path))
	}
	r := &reader{
		Reader: document.Reader{Problems: problems}, told: o.Watch, fleet: o.Fleet.At(filepath.Dir(full)), foreign: o.Fleet.InRepository(full),
		file: &File{Path: full, Watch: []string{full}, shown: path, tokensAt: map[string]document.Position{}}, looked: map[string]looked{}, written: map[string]int{}, claimed: map[string]bool{}, left: map[string]string{},
		private: slices.Clone(o.Private),
	}
	r.sections(root)
	if len(r.Problems) > 0 {
		return nil, Problems(append(r.Problems, r.missing.Problems...).In(path))
	}
	r.file.Missing = Problems(r.missing.Problems.In(path))
	return r.file, nil
}

// sections reads the sections of a file: servers in their order, then what refers to them.
func (r *reader) sections(root *document.Node) {
	var servers, profiles, tokens []func()
	later := func(to *[]func(), read func(*document.Node)) func(*document.Node) {
		return func(n *document.Node) { *to = append(*to, func() { read(n) }) }
	}
	seen := r.FieldsOf(root, "the file", map[string]func(*document.Node){
		"include":  later(&servers, r.includes),
		"servers":  func(n *document.Node) { r.claim(n); later(&servers, r.servers)(n) },
		"profiles": later(&profiles, r.profiles),
		"tokens":   func(n *document.Node) { r.keepPrivate(n); later(&tokens, r.tokens)(n) },
	})
	if root.Kind == document.IsMapping && !seen["include"] && !seen["servers"] {
		r.Report(root.Position, "the file has no servers: add servers or include")
	}
	for _, read := range slices.Concat(servers, profiles, tokens) {
		read()
	}
}

// word returns an item of a list of words, or "" if it has a problem, which Words has reported.
func word(item *document.Node) string {
	switch item.Scalar.(type) {
	case string, json.Number:
		return fmt.Sprint(item.Scalar)
	}
	return ""
}

// named calls read for each field of a section, which is a mapping of names to what they mean.
func (r *reader) named(n *document.Node, section, means string, read func(document.Field)) {
	if r.Expect(n, document.IsMapping, section, "a mapping of names to "+means) {
		for _, f := range n.Fields {
			read(f)
		}
	}
}
