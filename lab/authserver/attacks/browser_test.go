package attacks

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Variables of the browser, which is this program: gauze starts it as $BROWSER with an address.
const (
	envPerson = "GAUZE_TEST_PERSON" // who it belongs to
	envTold   = "GAUZE_TEST_TOLD"   // the file with what the person was told
)

// personHeader names the person in the requests of a browser, like the cookie of a session.
const personHeader = "Lab-Person"

// gaveUp is where the browser of a person who ends up on a page without a way forward says so.
const gaveUp = "https://person.lab/gave-up"

func TestMain(m *testing.M) {
	if name := os.Getenv(envPerson); name != "" {
		roots, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
		if err == nil {
			err = newBrowser(name, os.Getenv("HTTPS_PROXY"), os.Getenv(envTold), roots).open(os.Args[len(os.Args)-1])
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// browser belongs to a person who clicks what people always click.
type browser struct {
	person, told string
	client       http.Client
	next         http.RoundTripper
}

func newBrowser(person, proxy, told string, roots []byte) *browser {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(roots)
	b := &browser{person: person, told: told, next: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		DisableKeepAlives: true,
		Proxy: func(r *http.Request) (*url.URL, error) {
			if r.URL.Hostname() == "127.0.0.1" {
				return nil, nil
			}
			return url.Parse(proxy)
		},
	}}
	b.client.Transport = b
	return b
}

func (b *browser) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(personHeader, b.person)
	return b.next.RoundTrip(r)
}

var (
	form   = regexp.MustCompile(`(?s)<form method="POST" action="([^"]*)">(.*?)</form>`)
	fields = regexp.MustCompile(`name="([^"]*)" value="([^"]*)"`)
)

// open opens an address and submits each form that it is shown, until there is none.
func (b *browser) open(address string) error {
	res, err := b.client.Get(address)
	for range 10 {
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		at := res.Request.URL
		local := at.Hostname() == "127.0.0.1"
		shown := form.FindStringSubmatch(string(text))
		switch {
		case shown == nil && local:
			return nil
		case shown == nil:
			_, err := b.client.Get(gaveUp)
			return err
		case local: // gauze asks
			if err := tell(b.told, string(text)); err != nil {
				return err
			}
		}
		values := url.Values{}
		for _, field := range fields.FindAllStringSubmatch(shown[2], -1) {
			values.Set(html.UnescapeString(field[1]), html.UnescapeString(field[2]))
		}
		to, err := at.Parse(html.UnescapeString(shown[1]))
		if err != nil {
			return err
		}
		if shown[1] == "" {
			to.RawQuery = ""
		}
		res, err = b.client.Post(to.String(), "application/x-www-form-urlencoded", strings.NewReader(values.Encode()))
	}
	return fmt.Errorf("%s asks again and again", address)
}

// tell adds a text to what a person was told.
func tell(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.WriteString(f, text+"\n")
	return err
}
