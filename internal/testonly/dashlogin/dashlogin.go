// Package dashlogin opens the address of a dashboard as a browser does.
package dashlogin

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// ErrRefused means that the dashboard did not log the browser in.
var ErrRefused = errors.New("the dashboard did not log the browser in")

var (
	form  = regexp.MustCompile(`<form id="login" method="post" action="([^"]+)"`)
	field = regexp.MustCompile(`<input type="password" name="(\w+)"`)
)

// Open logs in with the address that gauze printed, as the script of the page does with the fragment.
// It returns a client with the cookie, and the URL of the first page after the login, without the
// slash at its end. The error is ErrRefused, with the page that was shown, if the login failed.
func Open(address string) (client *http.Client, home string, err error) {
	at, fragment, _ := strings.Cut(address, "#")
	values, err := url.ParseQuery(fragment)
	if err != nil {
		return nil, "", err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, "", err
	}
	client = &http.Client{Jar: jar}
	asked, err := client.Get(at)
	if err != nil {
		return nil, "", err
	}
	page, err := read(asked)
	if err != nil {
		return nil, "", err
	}
	to, name := form.FindStringSubmatch(page), field.FindStringSubmatch(page)
	if to == nil || name == nil {
		return nil, "", fmt.Errorf("%s has no form for a login: %s", at, page)
	}
	target, err := asked.Request.URL.Parse(to[1])
	if err != nil {
		return nil, "", err
	}
	r, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(url.Values{name[1]: {values.Get(name[1])}}.Encode()))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", target.Scheme+"://"+target.Host)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answered, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	page, err = read(answered)
	if err == nil && answered.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %s: %s", ErrRefused, answered.Status, page)
	}
	return client, strings.TrimSuffix(answered.Request.URL.String(), "/"), err
}

// Get returns a page and its status.
func Get(client *http.Client, url string) (status int, page string, err error) {
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	page, err = read(response)
	return response.StatusCode, page, err
}

func read(response *http.Response) (string, error) {
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
