package upgrade

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gauze-mcp/gauze/internal/testonly/releasetest"
)

// from returns the releases of a server.
func from(s *releasetest.Server) Releases {
	return Releases{URL: s.URL, Key: s.Key.Public(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// archive is the path of the archive of the latest release, 1.3.0.
var archive = releasetest.Latest + "/" + releasetest.Archive("1.3.0")

func TestTheProgramOfTheLatestReleaseIsFound(t *testing.T) {
	s := releasetest.Serve(t)
	program := bytes.Repeat([]byte("program "), 100_000)
	s.Publish("1.2.0", []byte("an older program"))
	s.Publish("1.3.0", program)
	for _, version := range []string{"", "1.3.0"} {
		found, err := from(s).Find(t.Context(), version)
		if err != nil {
			t.Fatal(err)
		}
		var last, total int64
		got, err := found.Program(t.Context(), func(done, of int64) { last, total = done, of })
		if err != nil || !bytes.Equal(got, program) || found.Version != "1.3.0" {
			t.Errorf("%q: got version %s and %d bytes, %v", version, found.Version, len(got), err)
		}
		if last == 0 || last != total {
			t.Errorf("the progress ended with %d of %d bytes", last, total)
		}
	}
	if found, err := from(s).Find(t.Context(), "1.2.0"); err != nil || found.Version != "1.2.0" {
		t.Errorf("got %v, %v", found, err)
	}
}

func TestBothKindsOfArchives(t *testing.T) {
	for _, name := range []string{"gauze_1.0.0_linux_amd64.tar.gz", "gauze_1.0.0_windows_amd64.zip"} {
		packed := releasetest.Pack(name, []byte("the program"))
		program := releasetest.Program(name)
		got, err := unpack(name, packed, program)
		if err != nil || string(got) != "the program" {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if _, err := unpack(name, packed, "gauze-temporal"); err == nil || !strings.Contains(err.Error(), "does not contain the program") {
			t.Errorf("%s: a program that is not there: %v", name, err)
		}
		for n := range packed {
			if got, err := unpack(name, packed[:n], program); err == nil && string(got) != "the program" {
				t.Errorf("%s: the first %d of %d bytes contain %q", name, n, len(packed), got)
			}
		}
	}
}

// Each of these is refused before anything is unpacked, and says what is wrong and where.
func TestWhatIsNotSignedIsRefused(t *testing.T) {
	change := func(name string) func(*releasetest.Server) {
		return func(s *releasetest.Server) {
			changed := bytes.Clone(s.File(name))
			changed[len(changed)/2] ^= 1
			s.Put(name, changed)
		}
	}
	const sums, signature = releasetest.Latest + "/" + sumsFile, releasetest.Latest + "/" + signatureFile
	for name, c := range map[string]struct {
		damage func(*releasetest.Server)
		want   string
	}{
		"a changed list":        {change(sums), "does not match SHA256SUMS"},
		"a changed signature":   {change(signature), "SHA256SUMS.sig"},
		"a changed archive":     {change(archive), "was modified or is incomplete: its SHA-256 is"},
		"no signature":          {func(s *releasetest.Server) { s.Put(signature, nil) }, "does not match SHA256SUMS"},
		"a page as a signature": {func(s *releasetest.Server) { s.Put(signature, []byte("<html>")) }, "is not a signature"},
		"a different key": {func(s *releasetest.Server) {
			s.Key = releasetest.NewKey()
			s.Publish("1.3.0", []byte("program"))
		}, "made with a different key from the one in this build of gauze"},
		"a different program in the archive": {func(s *releasetest.Server) {
			s.Put(archive, releasetest.Pack(archive, []byte("malware")))
		}, "was modified or is incomplete"},
		"the archive of another release": {func(s *releasetest.Server) {
			s.Put(archive, releasetest.Files("1.2.0", []byte("older"))[releasetest.Archive("1.2.0")])
		}, "was modified or is incomplete"},
		"a truncated archive": {func(s *releasetest.Server) {
			s.Handle(archive, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "1000")
				w.Write([]byte("only this"))
			})
		}, "the connection was closed before the end of the file"},
		"a shorter archive": {func(s *releasetest.Server) { s.Put(archive, s.File(archive)[:100]) }, "was modified or is incomplete"},
		"two versions": {func(s *releasetest.Server) {
			s.PublishFiles(releasetest.Latest, map[string][]byte{releasetest.Archive("1.2.0"): nil, releasetest.Archive("1.3.0"): nil})
		}, "lists archives for two versions"},
		"no version": {func(s *releasetest.Server) { s.PublishFiles(releasetest.Latest, map[string][]byte{"notes": nil}) }, "does not list a gauze archive"},
		"other systems": {func(s *releasetest.Server) {
			s.PublishFiles(releasetest.Latest, map[string][]byte{"gauze_1.3.0_plan9_386.tar.gz": nil})
		}, "has no archive for " + runtime.GOOS},
		"not published": {func(s *releasetest.Server) { s.Handle(sums, http.NotFound) }, "status 404"},
	} {
		t.Run(name, func(t *testing.T) {
			s := releasetest.Serve(t)
			releases := from(s)
			s.Publish("1.3.0", []byte("program"))
			c.damage(s)
			program, err := program(t.Context(), releases, "")
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("got %q, %v\nnot the error: %s", program, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), s.URL) {
				t.Errorf("the error does not say where: %v", err)
			}
		})
	}
}

// program finds a release and downloads its program.
func program(ctx context.Context, r Releases, version string) ([]byte, error) {
	found, err := r.Find(ctx, version)
	if err != nil {
		return nil, err
	}
	return found.Program(ctx, nil)
}

// A mirror may offer an older release, signed as it is, under the name of a newer one.
func TestTheNamesDecideTheVersion(t *testing.T) {
	s := releasetest.Serve(t)
	s.PublishFiles(releasetest.Dir("1.3.0"), releasetest.Files("1.2.0", []byte("older")))
	_, err := from(s).Find(t.Context(), "1.3.0")
	if err == nil || !strings.Contains(err.Error(), "is release 1.2.0, not 1.3.0") {
		t.Errorf("got %v", err)
	}
}

func TestDownloadsAreLimited(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
	for _, name := range []string{releasetest.Latest + "/" + sumsFile, releasetest.Latest + "/" + signatureFile, archive} {
		s := releasetest.Serve(t)
		s.Publish("1.3.0", []byte("program"))
		s.Handle(name, endless)
		if _, err := program(t.Context(), from(s), ""); err == nil || !strings.Contains(err.Error(), name+" is larger than") {
			t.Errorf("%s without an end: %v", name, err)
		}
		s.Handle(name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000000000000")
			w.Write(nil)
		})
		if _, err := program(t.Context(), from(s), ""); err == nil || !strings.Contains(err.Error(), name+" is larger than") {
			t.Errorf("%s of a terabyte: %v", name, err)
		}
	}
}

func TestAServerThatStopsSendingIsGivenUp(t *testing.T) {
	s := releasetest.Serve(t)
	s.Publish("1.3.0", []byte("program"))
	s.Handle(archive, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("the beginning"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	releases := from(s)
	found, err := releases.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found.from.stallTimeout = time.Millisecond
	if _, err := found.Program(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "the server stopped sending data") {
		t.Errorf("got %v", err)
	}
}

func TestRedirectsStayEncrypted(t *testing.T) {
	s := releasetest.Serve(t)
	s.Publish("1.3.0", []byte("program"))
	elsewhere := func(address string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, address+r.URL.Path, http.StatusFound)
		})
	}
	local := strings.TrimSuffix(s.URL, "/releases")
	encrypted := httptest.NewTLSServer(s)
	toLocal := httptest.NewTLSServer(elsewhere(local))
	toEncrypted := httptest.NewTLSServer(elsewhere(encrypted.URL))
	localToLocal := httptest.NewServer(elsewhere(local))
	localToOther := httptest.NewServer(elsewhere("http://releases.example.com"))
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }))
	for _, server := range []*httptest.Server{encrypted, toLocal, toEncrypted, localToLocal, localToOther, loop} {
		defer server.Close()
	}
	for name, c := range map[string]struct{ url, want string }{
		"encrypted":                    {encrypted.URL, ""},
		"encrypted to encrypted":       {toEncrypted.URL, ""},
		"this machine to this machine": {localToLocal.URL, ""},
		"encrypted to this machine":    {toLocal.URL, "which is not encrypted"},
		"this machine to plain HTTP":   {localToOther.URL, "it redirects to http://releases.example.com, which is not encrypted"},
		"to itself":                    {loop.URL, "it redirects too many times"},
		"plain HTTP":                   {"http://releases.example.com", "invalid GAUZE_RELEASES: must start with https://"},
		"not an address":               {"releases.example.com", "invalid GAUZE_RELEASES: must be a URL such as"},
		"a password":                   {"https://user:password@releases.example.com", "must not contain a user"},
		"a file":                       {"file:///releases", "invalid GAUZE_RELEASES"},
	} {
		releases := from(s)
		releases.URL, releases.HTTP = strings.TrimSuffix(c.url, "/")+"/releases/", encrypted.Client().Transport
		if name == "not an address" {
			releases.URL = c.url
		}
		got, err := program(t.Context(), releases, "")
		switch {
		case c.want == "" && (err != nil || string(got) != "program"):
			t.Errorf("%s: got %q, %v", name, got, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, not the error: %s", name, err, c.want)
		}
	}
}

func TestAPackageIsInstalledByACommandThatVerifiesIt(t *testing.T) {
	s := releasetest.Serve(t)
	s.Publish("1.3.0", []byte("program"))
	releases := from(s)
	found, err := releases.Find(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found.from.OS = "linux"
	file := "gauze_1.3.0_linux_" + runtime.GOARCH + ".deb"
	const sum = "SUM"
	got, err := found.PackageCommand("deb", false)
	want := "curl -fLO " + s.URL + "/latest/download/" + file + " && echo '" + sum + "  " + file + "' | sha256sum -c && sudo dpkg -i ./" + file
	for line := range strings.Lines(string(s.File(releasetest.Latest + "/" + sumsFile))) {
		if digits, name, _ := strings.Cut(strings.TrimSpace(line), "  "); name == file {
			want = strings.Replace(want, sum, digits, 1)
		}
	}
	if err != nil || got != want {
		t.Errorf("got  %s\nwant %s\n%v", got, want, err)
	}
	if _, err := found.PackageCommand("rpm", false); err == nil || !strings.Contains(err.Error(), "does not contain gauze_1.3.0_linux_"+runtime.GOARCH+".rpm") {
		t.Errorf("got %v", err)
	}
}

// Only a version that the user chose replaces a newer one.
func TestAPackageIsReplacedByAnOlderOneOnlyByChoice(t *testing.T) {
	files := map[string][]byte{}
	for channel, p := range packages {
		files["gauze_1.3.0_linux_amd64"+p.suffix] = []byte(channel)
	}
	sums, err := parseSums(releasetest.Sums(files))
	if err != nil {
		t.Fatal(err)
	}
	release := &Release{Version: "1.3.0", from: Releases{OS: "linux", Arch: "amd64"}, sums: sums}
	for channel := range packages {
		usual, err := release.PackageCommand(channel, false)
		chosen, err2 := release.PackageCommand(channel, true)
		if err != nil || err2 != nil || strings.Contains(usual, "old") || strings.Contains(chosen, " --oldpackage ") != (channel == "rpm") {
			t.Errorf("%s, %v\n%s, %v", usual, err, chosen, err2)
		}
	}
}
