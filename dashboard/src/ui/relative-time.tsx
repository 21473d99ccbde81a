import { Tooltip } from '@mantine/core'
import { useInterval } from '@mantine/hooks'
import { useState } from 'react'
import { agoOf, exactOf } from './format.ts'

interface Options {
  at: string | null
  never?: string
  /** It may lie ahead; else a clock that is slow here makes nothing happen "in 2 seconds". */
  ahead?: boolean
}

/** "3 minutes ago", kept true; the exact time on hover and for assistive programs. */
export function RelativeTime({ at, never = 'never', ahead = false }: Options) {
  const [now, setNow] = useState(Date.now())
  useInterval(() => setNow(Date.now()), 10_000, { autoInvoke: true })
  if (at === null) return <span>{never}</span>
  return (
    <Tooltip label={exactOf(at)}>
      <time dateTime={at}>{agoOf(at, ahead ? now : Math.max(now, Date.parse(at)))}</time>
    </Tooltip>
  )
}
