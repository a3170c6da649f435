// How wide a place in the page is.
import { useEffect, useRef, useState } from "preact/hooks";

/** A ref for an element, and its width in pixels as it changes. */
export function useWidth() {
  const place = useRef(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry.contentRect.width)));
    watch.observe(place.current);
    return () => watch.disconnect();
  }, []);
  return [place, width];
}
