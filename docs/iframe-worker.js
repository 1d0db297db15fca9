// Search in pages opened from disk. Browsers start no worker for file://, so its script runs in a
// hidden frame instead. Without this file Material would load such a script from a network.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside = new Promise((resolve) => {
        frame.ready = () => resolve(frame.contentWindow);
      });
      document.body.append(frame);
      frame.contentDocument.write(
        "<script>self.postMessage = (data) => frameElement.answer(data)</script>" +
          `<script src="${url}"></script><script>frameElement.ready()</script>`,
      );
      frame.contentDocument.close();
    }
    postMessage(data) {
      this.inside.then((inside) => inside.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
