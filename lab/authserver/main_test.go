package authserver

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"testing"
)

// envBrowser makes the test binary a browser: gauze starts it as $BROWSER with an address.
const envBrowser = "GAUZE_TEST_BROWSER"

func TestMain(m *testing.M) {
	if os.Getenv(envBrowser) != "" {
		if err := browse(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// gauze returns the path of the program, which the check builds. Go's test cache records what tests
// read, and nothing before them.
func gauze(t *testing.T) string {
	t.Helper()
	path := os.Getenv("GAUZE_BINARY")
	if path == "" {
		t.Fatal("GAUZE_BINARY is not set\nnext: go -C lab run ./check -only test-logins")
	}
	return path
}

var (
	formAction = regexp.MustCompile(`<form method="POST" action="([^"]+)"`)
	formID     = regexp.MustCompile(`name="id" value="([^"]+)"`)
)

// browse does what a person does who logs in: opens the address, fills in the form, submits it, and
// ends at the page of the callback.
func browse(address string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar}
	page, at, err := load(client.Get(address))
	if err != nil {
		return err
	}
	action, id := formAction.FindStringSubmatch(page), formID.FindStringSubmatch(page)
	if action == nil || id == nil {
		return fmt.Errorf("%s has no login form:\n%s", at.Path, page)
	}
	target, err := at.Parse(html.UnescapeString(action[1]))
	if err != nil {
		return err
	}
	_, at, err = load(client.PostForm(target.String(), url.Values{"id": {html.UnescapeString(id[1])}, "username": {Username}, "password": {Password}}))
	if err != nil {
		return err
	}
	if at.Path != "/callback" {
		return fmt.Errorf("the login ended at %s", at.Path)
	}
	return nil
}

func load(res *http.Response, err error) (page string, at *url.URL, _ error) {
	if err != nil {
		return "", nil, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s\n%s", res.Request.URL.Path, res.Status, b)
	}
	return string(b), res.Request.URL, err
}
