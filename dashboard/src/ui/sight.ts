import { useEffect, useRef, useState } from 'react'

const watched = new WeakMap<Element, (inSight: boolean) => void>()
/** One for all: a thousand observers would be felt. */
const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) watched.get(target)?.(isIntersecting)
  },
  { rootMargin: '200px' }
)

/** Tells when an element comes into sight, or nearly, and when it leaves it. @returns what ends that */
export function watchSight(element: Element, tell: (inSight: boolean) => void): () => void {
  watched.set(element, tell)
  observer.observe(element)
  return () => observer.unobserve(element)
}

/** Has the element been in sight? What is dear to show can wait until then. */
export function useSeen<E extends Element>() {
  const ref = useRef<E>(null)
  const [seen, setSeen] = useState(false)
  useEffect(() => {
    if (ref.current === null || seen) return
    return watchSight(ref.current, (inSight) => {
      if (inSight) setSeen(true)
    })
  }, [seen])
  return [ref, seen] as const
}
