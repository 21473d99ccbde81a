import { ActionIcon, Box, Code, CopyButton, Tooltip } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'

/** Text to take along, with a button that copies it. */
export function CopyBlock({ text, label }: { text: string; label: string }) {
  return (
    <Box pos="relative">
      <Code block pr={48} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} aria-label={label} tabIndex={0}>
        {text}
      </Code>
      <Box pos="absolute" top={6} right={6}>
        <CopyButton value={text} timeout={2000}>
          {({ copied, copy }) => (
            <Tooltip label={copied ? 'Copied' : 'Copy'}>
              <ActionIcon variant="default" onClick={copy} aria-label={copied ? 'Copied' : `Copy ${label}`}>
                {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
              </ActionIcon>
            </Tooltip>
          )}
        </CopyButton>
      </Box>
    </Box>
  )
}
