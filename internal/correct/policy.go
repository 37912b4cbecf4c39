package correct

import "time"

// Policy is what the user configured about corrections, for a server or for one tool. The zero
// value corrects calls if there is a model.
type Policy struct {
	Off         bool          // enabled: false
	OfferOnly   bool          // max_retries: 0; a correction is shown to the caller and never sent
	NoModel     bool          // use_model: false
	Model       string        // the name of a model, as in GAUZE_MODEL; empty: the configured one
	Timeout     time.Duration // for the question, including retries; 0: the model's own
	Correctable []Kind        // correctable_errors; nil: as Classify says
	Open        bool          // the closed-world gate is open: the model may fill in values of its own
}
