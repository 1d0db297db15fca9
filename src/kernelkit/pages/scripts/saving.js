// Files and texts that the page gives: a file for the browser to save, a text for the clipboard.
import { button, make } from "./elements.js";

const SAID = 1500; // milliseconds that a button says what it did

// `content`: a text of this type, or a Blob.
export function save(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const href = URL.createObjectURL(blob);
  make("a", { href, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

// A button that copies a text.
export function copyButton(text) {
  const own = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(text);
      own.textContent = "Copied";
    } catch {
      own.textContent = "Select the text and copy it";
    }
    setTimeout(() => {
      own.textContent = "Copy";
    }, SAID);
  });
  return own;
}
