package builtin

import (
	"encoding/json"
	"fmt"

	"github.com/valyala/fasthttp"

	"rejoin/loadgen"
	"rejoin/server/vsr"
)

type (
	clientID    = vsr.Client
	frameHeader = vsr.Header
)

// The codes of refusals that mean more than "try again".
const (
	codeEvicted    = "session_evicted"
	codeSuperseded = "request_superseded"
	codeDiffers    = "request_differs"

	outcomeNotAppended = "not_appended"
)

// refused reads an answer that is not 200. Only the word "not_appended" says that a try left nothing;
// whatever is not understood leaves the outcome open.
func (t *Target) refused(response *fasthttp.Response) loadgen.TryResult {
	var answer struct {
		Error   string `json:"error"`
		Message string `json:"message"`
		Outcome string `json:"outcome"`
		Primary string `json:"primary"`
	}
	if err := json.Unmarshal(response.Body(), &answer); err != nil || answer.Error == "" {
		return loadgen.NotAcked(loadgen.TryUnknown, loadgen.CauseAnswer,
			fmt.Errorf("status %d with a body that is no refusal: %q", response.StatusCode(), clip(response.Body())))
	}
	outcome := loadgen.TryUnknown
	if answer.Outcome == outcomeNotAppended {
		outcome = loadgen.TryNotAppended
	}
	result := loadgen.NotAcked(outcome, loadgen.CauseAnswer, fmt.Errorf("status %d %s: %s", response.StatusCode(), answer.Error, answer.Message))
	result.Hint = t.addressOf(answer.Primary)
	result.Unregistered = answer.Error == codeEvicted
	switch response.StatusCode() {
	case fasthttp.StatusBadRequest, fasthttp.StatusUnauthorized, fasthttp.StatusNotFound, fasthttp.StatusMethodNotAllowed,
		fasthttp.StatusRequestEntityTooLarge, fasthttp.StatusUnsupportedMediaType:
		result.Final = true
	case fasthttp.StatusConflict:
		result.Final = answer.Error == codeEvicted || answer.Error == codeSuperseded || answer.Error == codeDiffers
	}
	return result
}
