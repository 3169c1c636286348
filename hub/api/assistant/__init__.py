"""Operations and serializers of seats, usage and its reports."""
