package doctor

import (
	"regexp"
	"sync"
)

// wording is a regular expression that is compiled when it is first used. Most runs of Gauze have
// nothing to diagnose and should not pay for it.
type wording struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

func (w *wording) regexp() *regexp.Regexp {
	w.once.Do(func() { w.re = regexp.MustCompile(w.source) })
	return w.re
}

func (w *wording) MatchString(text string) bool         { return w.regexp().MatchString(text) }
func (w *wording) FindString(text string) string        { return w.regexp().FindString(text) }
func (w *wording) FindStringIndex(text string) []int    { return w.regexp().FindStringIndex(text) }
func (w *wording) FindStringSubmatch(t string) []string { return w.regexp().FindStringSubmatch(t) }
func (w *wording) FindAllString(text string, n int) []string {
	return w.regexp().FindAllString(text, n)
}
