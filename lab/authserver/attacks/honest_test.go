package attacks

import "testing"

// TestHonest: five people who are not attacked log in and work, with few questions: one page of the
// provider for each login, and from gauze only those that are named here.
func TestHonest(t *testing.T) {
	for _, c := range []struct {
		name             string
		pages, questions int // pages are those of providers, questions those of gauze.
		run              func(w *world) error
	}{
		{"alice logs in once and works twice", 1, 0, func(w *world) error {
			return first(w.alice.login(mailURL), w.alice.run(mailURL), w.alice.run(mailURL))
		}},
		{"bob lets the browser open", 1, 0, func(w *world) error {
			return first(w.bob.run(bankURL, auto), w.bob.run(bankURL, auto))
		}},
		{"carol is asked by her client", 1, 1, func(w *world) error {
			w.mail.lazy = true
			return first(w.carol.run(mailURL), w.carol.run(mailURL))
		}},
		{"dave uses two services of one provider", 2, 1, func(w *world) error {
			w.dave.types = "y\n"
			return first(w.dave.login(mailURL), w.dave.login(calendarURL), w.dave.run(mailURL), w.dave.run(calendarURL))
		}},
		{"erin works for a long time", 1, 0, func(w *world) error {
			err := w.erin.login(bankURL)
			for range 3 {
				w.strict.expire()
				err = first(err, w.erin.run(bankURL))
			}
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if err := c.run(w); err != nil {
				t.Error(err)
			}
			w.judge()
			questions := 0
			for _, p := range w.people {
				questions += p.numAsk
			}
			if pages := w.lenient.pages + w.strict.pages; pages != c.pages || questions != c.questions {
				t.Errorf("%d pages and %d questions, want %d and %d", pages, questions, c.pages, c.questions)
			}
		})
	}
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
