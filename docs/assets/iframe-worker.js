// A browser starts no worker from a folder. There the search runs in a hidden frame instead, so that the site
// needs neither a server nor a script from elsewhere. Only what material's search uses of a worker is here.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentDocument
      inside.open()
      inside.write("<!doctype html><title>search</title><body></body>")
      inside.close()
      this.inside = frame.contentWindow
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.createElement("script")
      script.src = new URL(url, location)
      this.loaded = new Promise((done) => (script.onload = done))
      inside.body.append(script)
    }

    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
  }
}
