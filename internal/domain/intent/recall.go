package intent

// Recall answers a request from its idempotency key alone, where that key is held: Replayed or Mismatched. Else
// ok is false. It decides nothing, reserves nothing and leaves the facts as they are, so that a request which
// cannot be decided any more (its purpose is gone, say) still gets the answer that it got before (D8).
func Recall(r *Request, f *Facts) (res Result, ok bool) { return byIdempotency(r, f) }
