import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { watchSight } from './sight.ts'

export type Scheme = 'light' | 'dark'
export type Draw = (context: CanvasRenderingContext2D, width: number, height: number, scheme: Scheme) => void

function paint(canvas: HTMLCanvasElement, draw: Draw, scheme: Scheme): void {
  const { clientWidth: width, clientHeight: height } = canvas
  const context = canvas.getContext('2d')
  if (context === null || width === 0) return
  const scale = devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
  context.scale(scale, scale)
  draw(context, width, height, scheme)
}

/** A canvas that is drawn when it comes into sight, when its size or the theme changes, and when `draw` does. */
export function useCanvas(draw: Draw) {
  const ref = useRef<HTMLCanvasElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    const canvas = ref.current
    if (canvas === null) return
    let inSight = false
    const forget = watchSight(canvas, (now) => {
      inSight = now
      if (inSight) paint(canvas, draw, scheme)
    })
    const size = new ResizeObserver(() => {
      if (inSight) paint(canvas, draw, scheme)
    })
    size.observe(canvas)
    return () => {
      forget()
      size.disconnect()
    }
  }, [draw, scheme])
  return ref
}
